//! The tables of a bootstrap, and from where in its blind rotation each output is read.
//!
//! After a blind rotation coefficient p holds what coefficient 0 would hold for a phase of p
//! places more. So tables that are rotations of one another, f_j(v) = f_0(v + c), are all read
//! from one of them: they take no place in the test polynomial. Sums of rotations of one step are
//! all functions of the message: multi-value bootstrapping of Carpov, Izabachène and Mollimard
//! (CT-RSA 2019, eprint 2018/622).

/// The tables of one bootstrap, one after another: for each message `v < 2^(message_bits - 1)` a
/// torus number.
#[derive(Clone, Copy)]
pub(crate) struct Tables<'a> {
    pub(crate) message_bits: u32,
    pub(crate) values: &'a [u32],
}

/// Which tables a test polynomial holds, and for every output its reading.
pub(crate) struct Layout<'a> {
    pub(crate) tables: Vec<&'a [u32]>,
    pub(crate) readings: Vec<Reading>,
}

/// The table of this number, rotated by some messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reading {
    pub(crate) table: usize,
    pub(crate) messages: usize,
}

impl<'a> Tables<'a> {
    /// Keeps the first of the tables that are rotations of one another.
    pub(crate) fn layout(self) -> Layout<'a> {
        let mut tables: Vec<&[u32]> = Vec::new();
        let mut readings = Vec::new();
        for table in self.values.chunks_exact(1 << (self.message_bits - 1)) {
            let found = tables.iter().enumerate().find_map(|(number, from)| {
                let messages = rotation(from, table)?;
                Some(Reading { table: number, messages })
            });
            readings.push(found.unwrap_or_else(|| {
                tables.push(table);
                Reading { table: tables.len() - 1, messages: 0 }
            }));
        }
        Layout { tables, readings }
    }
}

impl Layout<'_> {
    /// log2 of the number of tables, rounded up.
    pub(crate) fn count_log(&self) -> u32 {
        self.tables.len().next_power_of_two().ilog2()
    }
}

/// By how many messages a table must be rotated to give another.
fn rotation(from: &[u32], to: &[u32]) -> Option<usize> {
    let half = from.len();
    let whole = |v: usize| match v % (2 * half) {
        v if v < half => from[v],
        v => from[v - half].wrapping_neg(),
    };
    (0..2 * half)
        .find(|&messages| to.iter().enumerate().all(|(v, &number)| number == whole(v + messages)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minus(x: u32) -> u32 {
        x.wrapping_neg()
    }

    #[test]
    fn rotations_share_a_table() {
        let values = [1, 2, minus(2), 1, 3, 4, minus(1), minus(2), 4, minus(3)];
        let layout = Tables { message_bits: 2, values: &values }.layout();
        assert_eq!(layout.tables, [&[1, 2], &[3, 4]]);
        let readings = [(0, 0), (0, 3), (1, 0), (0, 2), (1, 1)];
        assert_eq!(layout.readings, readings.map(|(table, messages)| Reading { table, messages }));
        assert_eq!(layout.count_log(), 1);
    }
}

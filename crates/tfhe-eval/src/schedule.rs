//! The order of a program's work, known before it runs.

use crate::program::Program;

/// What an output depends on, who waits for whom, and who goes first.
#[derive(Default)]
pub(crate) struct Schedule {
    /// By node: whether an output depends on it.
    pub(crate) needed: Vec<bool>,
    /// By node: the most bootstraps on a way from it to an output, its own included.
    pub(crate) priorities: Vec<u32>,
    /// By node: how many of its terms are made by nodes.
    pub(crate) waits: Vec<u32>,
    /// By signal: how often needed nodes and the outputs use it.
    pub(crate) uses: Vec<u32>,
    /// Needed bootstraps.
    pub(crate) bootstraps: usize,
    /// The most bootstraps one after another.
    pub(crate) depth: usize,
    /// By signal and one more: where its users start.
    user_starts: Vec<usize>,
    /// The needed nodes that use each signal, once for every term.
    users: Vec<u32>,
}

impl Schedule {
    pub(crate) fn new(program: &Program) -> Self {
        let mut schedule = Self {
            needed: vec![false; program.nodes()],
            priorities: vec![0; program.nodes()],
            waits: vec![0; program.nodes()],
            uses: vec![0; program.signals()],
            ..Self::default()
        };
        schedule.look_back_from_outputs(program);
        schedule.list_users(program);
        schedule
    }

    /// The nodes that wait for a signal, once for every term.
    pub(crate) fn users(&self, signal: usize) -> &[u32] {
        &self.users[self.user_starts[signal]..self.user_starts[signal + 1]]
    }

    fn look_back_from_outputs(&mut self, program: &Program) {
        for &signal in program.output_signals() {
            self.uses[signal as usize] += 1;
        }
        // By signal: the most bootstraps on a way from it to an output.
        let mut after = vec![0; program.signals()];
        for node in (0..program.nodes()).rev() {
            let used = program.made(node).any(|signal| self.uses[signal] > 0);
            if !used {
                continue;
            }
            let farthest = program.made(node).map(|signal| after[signal]).max().unwrap_or(0);
            let own = u32::from(program.is_bootstrap(node));
            self.needed[node] = true;
            self.bootstraps += own as usize;
            self.priorities[node] = farthest + own;
            self.depth = self.depth.max((farthest + own) as usize);
            for (signal, _) in program.terms(node) {
                self.uses[signal] += 1;
                self.waits[node] += u32::from(signal >= program.inputs());
                after[signal] = after[signal].max(farthest + own);
            }
        }
    }

    fn list_users(&mut self, program: &Program) {
        let needed = || (0..program.nodes()).filter(|&node| self.needed[node]);
        self.user_starts = vec![0; program.signals() + 1];
        for node in needed() {
            for (signal, _) in program.terms(node) {
                self.user_starts[signal + 1] += 1;
            }
        }
        for signal in 0..program.signals() {
            self.user_starts[signal + 1] += self.user_starts[signal];
        }
        let mut places = self.user_starts.clone();
        self.users = vec![0; self.user_starts[program.signals()]];
        for node in needed() {
            for (signal, _) in program.terms(node) {
                self.users[places[signal]] = node as u32;
                places[signal] += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Program, ProgramArrays};

    /// Node 0 feeds 1 (linear) and 2; 1 feeds 3; nothing needs 2.
    #[test]
    fn priorities_count_bootstraps_to_an_output() {
        let program = Program::new(ProgramArrays {
            inputs: 1,
            kinds: vec![1, 0, 1, 1],
            term_starts: vec![0, 1, 3, 4, 5],
            term_signals: vec![0, 1, 1, 1, 2],
            term_weights: vec![1; 5],
            constants: vec![0; 4],
            message_bits: vec![1, 0, 1, 1],
            output_starts: vec![0, 1, 2, 3, 4],
            tables: vec![0; 3],
            output_constants: vec![0; 4],
            output_signals: vec![4, 0],
        })
        .unwrap();
        let schedule = &program.schedule;
        assert_eq!(schedule.needed, [true, true, false, true]);
        assert_eq!(schedule.priorities, [2, 1, 0, 1]);
        assert_eq!(schedule.waits, [0, 2, 0, 1]);
        assert_eq!(schedule.uses, [2, 2, 1, 0, 1]);
        assert_eq!((schedule.bootstraps, schedule.depth), (2, 2));
        assert_eq!(schedule.users(1), [1, 1]);
        assert_eq!(schedule.users(3), [0; 0]);
    }
}

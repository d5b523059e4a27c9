//! Conversion of residues from one set of primes to another.

use rlwe::tables::ConversionTable;

use super::buffer::Buffer;
use super::device::Device;
use super::engine::{Grid, Kernel};
use super::residues::Residues;
use super::table::{Row, Rows, Table};
use crate::Result;

/// Words of shared memory that a block may have without asking for more.
const SHARED_WORDS: usize = 48 * 1024 / size_of::<u32>();
/// Threads of a block where its scaled sources fit.
const MOST_THREADS: usize = 128;
/// Positions that a thread works on.
const POSITIONS_OF_THREAD: usize = 2;
/// Targets that a block converts to, for which it scales the sources once: `TARGETS` of the kernel.
const TARGETS_OF_ROW: usize = 8;

/// The constants of a conversion on a device, and the limbs that it reads and writes.
#[derive(Debug)]
pub struct ConversionTables {
    sources: Rows,
    targets: Rows,
    factors: Table,
    halves: Table,
    reciprocals: Table,
    weights: Table,
    offsets: Table,
    shift: u32,
}

impl ConversionTables {
    /// The conversion of `table`: source number i is limb `sources[i]`, target number i is limb
    /// `targets[i]`.
    ///
    /// # Errors
    /// As [`Buffer::unwritten`].
    pub fn new(
        device: &Device,
        table: &ConversionTable,
        sources: &[u32],
        targets: &[u32],
    ) -> Result<Self> {
        assert_eq!(sources.len(), table.sources.len(), "a limb for every source");
        assert_eq!(targets.len(), table.targets.len(), "a limb for every target");
        for constants in [&table.factors, &table.halves, &table.reciprocals] {
            assert_eq!(constants.len(), sources.len(), "a constant for every source");
        }
        assert_eq!(table.offsets.len(), targets.len(), "a constant for every target");
        let terms = (sources.len() + 1) * targets.len();
        assert_eq!(table.weights.len(), terms, "a weight for every term");
        assert!((1..64).contains(&table.shift), "a shift of 64 bits");
        let source =
            |(&prime, &first): (&usize, &u32)| Row { prime: prime as u32, to: 0, first, second: 0 };
        let target =
            |(&prime, &to): (&usize, &u32)| Row { prime: prime as u32, to, first: 0, second: 0 };
        let sources: Vec<Row> = table.sources.iter().zip(sources).map(source).collect();
        let targets: Vec<Row> = table.targets.iter().zip(targets).map(target).collect();
        Ok(Self {
            sources: Rows::new(device, &sources)?,
            targets: Rows::new(device, &targets)?,
            factors: Table::new(device, &table.factors)?,
            halves: Table::new(device, &table.halves)?,
            reciprocals: Table::new(device, &table.reciprocals)?,
            weights: Table::new(device, &table.weights)?,
            offsets: Table::new(device, &table.offsets)?,
            shift: table.shift,
        })
    }
}

/// `Conversion` of `kernels/conversion.cu`.
#[repr(C)]
struct Arguments {
    primes: u64,
    to: u64,
    from: u64,
    sources: u64,
    targets: u64,
    factors: u64,
    halves: u64,
    reciprocals: u64,
    weights: u64,
    offsets: u64,
    source_count: u32,
    target_count: u32,
    rows_of_poly: u32,
    from_stride: u32,
    to_stride: u32,
    shift: u32,
    log_n: u32,
}

/// Converts `polys` polynomials, whose limbs lie `from_stride` and `to_stride` limbs after those of
/// the one before.
///
/// # Errors
/// [`Error::DifferentDevices`](crate::Error::DifferentDevices),
/// [`Error::DeviceLost`](crate::Error::DeviceLost).
pub fn convert(
    ring: &Residues,
    to: &mut Buffer,
    to_stride: usize,
    from: &Buffer,
    from_stride: usize,
    polys: usize,
    tables: &ConversionTables,
) -> Result<()> {
    to.check_device(ring.device(), "convert residues")?;
    from.check_device(ring.device(), "convert residues")?;
    assert!(tables.sources.primes().max(tables.targets.primes()) <= ring.count(), "primes");
    let needed = |stride: usize, limbs: usize| polys.saturating_sub(1) * stride + limbs;
    assert!(
        needed(to_stride, tables.targets.to()) <= ring.limbs(to)
            && needed(from_stride, tables.sources.first()) <= ring.limbs(from),
        "limbs of the buffers"
    );
    let (source_count, target_count) = (tables.sources.len(), tables.targets.len());
    let terms = source_count + 1;
    let rows_of_poly = target_count.div_ceil(TARGETS_OF_ROW);
    let shared = |threads: usize| (TARGETS_OF_ROW + POSITIONS_OF_THREAD * threads) * terms;
    let mut threads = MOST_THREADS.min(ring.n() / POSITIONS_OF_THREAD);
    while shared(threads) > SHARED_WORDS && threads > 1 {
        threads /= 2;
    }
    let arguments = Arguments {
        primes: ring.primes(),
        to: to.address_to_write(),
        from: from.address(),
        sources: tables.sources.address(),
        targets: tables.targets.address(),
        factors: tables.factors.address(),
        halves: tables.halves.address(),
        reciprocals: tables.reciprocals.address(),
        weights: tables.weights.address(),
        offsets: tables.offsets.address(),
        source_count: source_count as u32,
        target_count: target_count as u32,
        rows_of_poly: rows_of_poly as u32,
        from_stride: from_stride as u32,
        to_stride: to_stride as u32,
        shift: tables.shift,
        log_n: ring.log_n(),
    };
    let grid = Grid {
        columns: ring.n() / (POSITIONS_OF_THREAD * threads),
        rows: rows_of_poly * polys,
        threads,
        shared: shared(threads),
    };
    // SAFETY: the tables name primes of the ring and limbs of both buffers for every polynomial, and
    // have a constant for every source, target and term, as was checked; the positions of a block's
    // threads are a power of two that divides N, and each has a word of shared memory for every term,
    // as each target of the block has.
    unsafe { ring.launch(Kernel::Convert, grid, &arguments) }
}

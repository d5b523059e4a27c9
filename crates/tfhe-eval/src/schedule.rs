//! The order of a program's work: one rule, for runs and for what they are expected to take.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use crate::bootstrap::MAX_BATCH;
use crate::program::Program;
use crate::{Error, Result};

/// What nodes cost, in seconds or any other unit.
#[derive(Debug, Clone, PartialEq)]
pub struct Costs {
    /// Of a bootstrap with 1, 2 and 4 tables.
    pub bootstrap: Vec<f64>,
    /// Of each term of a sum.
    pub term: f64,
}

impl Default for Costs {
    /// Every bootstrap costs the same, and sums nothing: runs go by these.
    fn default() -> Self {
        Self { bootstrap: vec![1.0; 3], term: 0.0 }
    }
}

/// What an output depends on, who waits for whom, and who goes first.
///
/// Of the bootstraps that can begin those go first from which the longest path leads to an output,
/// by cost, and of several such the first in the program.
#[derive(Default)]
pub(crate) struct Schedule {
    /// By node: whether an output depends on it.
    pub(crate) needed: Vec<bool>,
    /// By node: the longest path from it to an output, its own cost included.
    pub(crate) priorities: Vec<Priority>,
    /// By node: how many of its terms are made by nodes.
    pub(crate) waits: Vec<u32>,
    /// By signal: how often needed nodes and the outputs use it.
    pub(crate) uses: Vec<u32>,
    /// Needed bootstraps.
    pub(crate) bootstraps: usize,
    /// By node: what it costs.
    costs: Vec<f64>,
    /// By signal and one more: where its users start.
    user_starts: Vec<usize>,
    /// The needed nodes that use each signal, once for every term.
    users: Vec<u32>,
}

/// The length of a path, never NaN.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Priority(f64);

impl Eq for Priority {}

impl Ord for Priority {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Priority {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Schedule {
    /// For costs that are finite and not negative, and enough of them for the tables.
    pub(crate) fn new(program: &Program, costs: &Costs) -> Self {
        let node_cost = |node: usize| {
            let terms = program.terms(node).count() as f64 * costs.term;
            match program.is_bootstrap(node) {
                true => terms + costs.bootstrap[program.tables(node).layout().count_log() as usize],
                false => terms,
            }
        };
        let mut schedule = Self {
            needed: vec![false; program.nodes()],
            priorities: vec![Priority::default(); program.nodes()],
            waits: vec![0; program.nodes()],
            uses: vec![0; program.signals()],
            costs: (0..program.nodes()).map(node_cost).collect(),
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
        // By signal: the longest path from it to an output.
        let mut after = vec![0.0f64; program.signals()];
        for node in (0..program.nodes()).rev() {
            if !program.made(node).any(|signal| self.uses[signal] > 0) {
                continue;
            }
            let farthest = program.made(node).map(|signal| after[signal]).fold(0.0, f64::max);
            let length = farthest + self.costs[node];
            self.needed[node] = true;
            self.bootstraps += usize::from(program.is_bootstrap(node));
            self.priorities[node] = Priority(length);
            for (signal, _) in program.terms(node) {
                self.uses[signal] += 1;
                self.waits[node] += u32::from(signal >= program.inputs());
                after[signal] = after[signal].max(length);
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

    /// When the last of the needed nodes ends, if each begins as soon as its operands are there and
    /// one of `threads` threads is free.
    fn makespan(&self, program: &Program, threads: usize) -> f64 {
        let mut waits = self.waits.clone();
        let begin = |node: usize| (self.priorities[node], Reverse(node));
        let nodes = 0..program.nodes();
        let mut ready: BinaryHeap<(Priority, Reverse<usize>)> =
            nodes.filter(|&node| self.needed[node] && waits[node] == 0).map(begin).collect();
        let mut running: BinaryHeap<Reverse<(Priority, usize)>> = BinaryHeap::new();
        let mut now = 0.0;
        loop {
            while running.len() < threads
                && let Some((_, Reverse(node))) = ready.pop()
            {
                running.push(Reverse((Priority(now + self.costs[node]), node)));
            }
            let Some(Reverse((Priority(end), done))) = running.pop() else { return now };
            now = end;
            for signal in program.made(done) {
                for &user in self.users(signal) {
                    waits[user as usize] -= 1;
                    if waits[user as usize] == 0 {
                        ready.push(begin(user as usize));
                    }
                }
            }
        }
    }

    /// The most signals that are there at once in a run on one thread.
    ///
    /// Inputs stay, as the caller has them. Any other is there from when it is made until its last
    /// use; the operands of a sum, until the sum is made.
    fn peak_signals(&self, program: &Program) -> usize {
        let mut live = Live {
            program,
            schedule: self,
            waits: self.waits.clone(),
            uses: self.uses.clone(),
            signals: program.inputs(),
            peak: program.inputs(),
        };
        let first = (0..program.nodes()).filter(|&node| self.needed[node] && self.waits[node] == 0);
        let mut ready = BinaryHeap::new();
        let mut reached: Vec<usize> = first.collect();
        loop {
            while let Some(node) = reached.pop() {
                if program.is_bootstrap(node) {
                    ready.push((self.priorities[node], Reverse(node)));
                } else {
                    live.make(node, &mut reached);
                    live.release_operands(node);
                }
            }
            let batch: Vec<usize> =
                (0..MAX_BATCH).map_while(|_| ready.pop()).map(|(_, Reverse(node))| node).collect();
            if batch.is_empty() {
                return live.peak;
            }
            batch.iter().for_each(|&node| live.release_operands(node));
            batch.iter().for_each(|&node| live.make(node, &mut reached));
        }
    }
}

/// The signals that are there at one point of a run.
struct Live<'a> {
    program: &'a Program,
    schedule: &'a Schedule,
    /// By node: the terms that are not there yet.
    waits: Vec<u32>,
    /// By signal: the uses to come.
    uses: Vec<u32>,
    signals: usize,
    peak: usize,
}

impl Live<'_> {
    /// Takes in what a node makes, and lists the nodes that can begin now.
    fn make(&mut self, node: usize, reached: &mut Vec<usize>) {
        for signal in self.program.made(node) {
            self.signals += usize::from(self.uses[signal] > 0);
            for &user in self.schedule.users(signal) {
                let waits = &mut self.waits[user as usize];
                *waits -= 1;
                if *waits == 0 {
                    reached.push(user as usize);
                }
            }
        }
        self.peak = self.peak.max(self.signals);
    }

    /// Lets go of what is used for the last time.
    fn release_operands(&mut self, node: usize) {
        for (signal, _) in self.program.terms(node) {
            self.uses[signal] -= 1;
            let made_here = signal >= self.program.inputs();
            self.signals -= usize::from(made_here && self.uses[signal] == 0);
        }
    }
}

impl Program {
    /// The most LWE ciphertexts that a run on one thread holds at once: inputs and outputs, and
    /// what is made on the way until its last use.
    pub fn peak_signals(&self) -> usize {
        Schedule::new(self, &Costs::default()).peak_signals(self)
    }

    /// How many bootstraps a run makes: those that an output depends on.
    pub fn bootstraps(&self) -> usize {
        Schedule::new(self, &Costs::default()).bootstraps
    }

    /// The most bootstraps one after another.
    pub fn depth(&self) -> usize {
        let schedule = Schedule::new(self, &Costs::default());
        schedule.priorities.iter().max().map_or(0, |Priority(length)| *length as usize)
    }

    /// What a run takes on `threads` threads by these costs: every node that an output depends on
    /// begins as soon as its operands are there and a thread is free, those first from which the
    /// longest path leads to an output, as in a run.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] for no threads, costs that are negative or not finite, and fewer
    /// of them than the bootstraps have tables.
    pub fn data_flow_seconds(&self, costs: &Costs, threads: usize) -> Result<f64> {
        let refused = |reason| {
            Err(Error::InvalidArgument { operation: "predict the time of a program", reason })
        };
        if threads == 0 {
            return refused("expected 1 thread or more, got 0".to_string());
        }
        let all = costs.bootstrap.iter().chain([&costs.term]);
        if let Some(wrong) = all.into_iter().find(|x| !(x.is_finite() && **x >= 0.0)) {
            return refused(format!("expected costs of 0 or more, got {wrong}"));
        }
        let most = self.most_tables_log().map_or(0, |log| log + 1);
        if most > costs.bootstrap.len() {
            let given = costs.bootstrap.len();
            return refused(format!("expected costs of {most} sizes of bootstraps, got {given}"));
        }
        Ok(Schedule::new(self, costs).makespan(self, threads))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ProgramArrays;

    /// Node 0 feeds 1 (linear) and 2; 1 feeds 3; nothing needs 2.
    fn program() -> Program {
        Program::new(ProgramArrays {
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
        .unwrap()
    }

    #[test]
    fn priorities_are_longest_ways_to_an_output() {
        let schedule = Schedule::new(&program(), &Costs::default());
        assert_eq!(schedule.needed, [true, true, false, true]);
        assert_eq!(schedule.priorities, [2.0, 1.0, 0.0, 1.0].map(Priority));
        assert_eq!(schedule.waits, [0, 2, 0, 1]);
        assert_eq!(schedule.uses, [2, 2, 1, 0, 1]);
        assert_eq!((program().bootstraps(), program().depth()), (2, 2));
        assert_eq!(schedule.users(1), [1, 1]);
        assert_eq!(schedule.users(3), [0; 0]);
        let costs = Costs { bootstrap: vec![10.0], term: 1.0 };
        let schedule = Schedule::new(&program(), &costs);
        assert_eq!(schedule.priorities, [24.0, 13.0, 0.0, 11.0].map(Priority));
        assert_eq!(program().data_flow_seconds(&costs, 1), Ok(24.0));
    }

    #[test]
    fn signals_live_until_their_last_use() {
        // The input stays; node 0 lives until node 1 has its sum, which lives until node 3.
        assert_eq!(program().peak_signals(), 3);
        assert_eq!(chain(9).peak_signals(), 2);
        // Every one is an output, and stays.
        assert_eq!(fan(8).peak_signals(), 9);
    }

    /// Each bootstrap uses the one before, and the last is the output.
    fn chain(nodes: u32) -> Program {
        of_bootstraps((0..nodes).collect(), vec![nodes])
    }

    /// Each bootstrap uses the input, and is an output.
    fn fan(nodes: u32) -> Program {
        of_bootstraps(vec![0; nodes as usize], (1..=nodes).collect())
    }

    /// One bootstrap of each of these signals.
    fn of_bootstraps(term_signals: Vec<u32>, output_signals: Vec<u32>) -> Program {
        let nodes = term_signals.len();
        Program::new(ProgramArrays {
            inputs: 1,
            kinds: vec![1; nodes],
            term_starts: (0..=nodes as u32).collect(),
            term_signals,
            term_weights: vec![1; nodes],
            constants: vec![0; nodes],
            message_bits: vec![1; nodes],
            output_starts: (0..=nodes as u32).collect(),
            tables: vec![0; nodes],
            output_constants: vec![0; nodes],
            output_signals,
        })
        .unwrap()
    }

    /// Three bootstraps of inputs, the last of which feeds another.
    #[test]
    fn the_longest_way_begins_first() {
        let program = of_bootstraps(vec![0, 0, 0, 3], vec![1, 2, 4]);
        for (threads, expected) in [(1, 4.0), (2, 2.0), (3, 2.0), (9, 2.0)] {
            let seconds = program.data_flow_seconds(&Costs::default(), threads).unwrap();
            assert_eq!(seconds, expected, "{threads}");
        }
        for (costs, threads) in [
            (Costs::default(), 0),
            (Costs { bootstrap: Vec::new(), term: 0.0 }, 1),
            (Costs { bootstrap: vec![f64::NAN], term: 0.0 }, 1),
            (Costs { bootstrap: vec![1.0], term: -1.0 }, 1),
        ] {
            let refused = program.data_flow_seconds(&costs, threads);
            assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
        }
    }
}

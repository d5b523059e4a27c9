//! Runs programs: every node as soon as its operands are there, the most critical first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use system_memory::Refused;

use crate::bootstrap::{Bootstrapper, MAX_BATCH, Task};
use crate::encryption::{Ciphertexts, Lwe, check_owner};
use crate::keys::EvaluationKey;
use crate::program::Program;
use crate::schedule::{Costs, Priority, Schedule};
use crate::{Error, Result};

const RUN: &str = "run a bootstrap program";
const MAX_THREADS: usize = 1024;
/// How often the caller hears of a run.
const INTERVAL: Duration = Duration::from_millis(50);

impl EvaluationKey {
    /// Runs a program on `threads` threads and gives its outputs.
    ///
    /// No layer waits for another: a bootstrap starts when its operands are there and a
    /// thread is free, those first that the most bootstraps wait for one after another. A
    /// thread takes up to four at once where there are enough for all threads. Weighted sums
    /// are made by the thread that made their last operand. A signal is freed at its last
    /// use. The number of threads does not change the outputs.
    ///
    /// Meanwhile the calling thread calls `go_on` with the number of bootstraps made and the
    /// number of all, up to 20 times a second; the run stops when that returns false.
    ///
    /// # Errors
    /// [`Error::InvalidArgument`] when the inputs or the parameters do not suffice for the
    /// program, or there cannot be so many threads; [`Error::ParametersMismatch`];
    /// [`Error::KeyMismatch`]; [`Error::Cancelled`]; [`Error::Fault`].
    pub fn run(
        &self,
        program: &Program,
        inputs: &Ciphertexts,
        threads: usize,
        go_on: impl FnMut(usize, usize) -> bool,
    ) -> Result<Ciphertexts> {
        Ok(self.run_timed(program, inputs, threads, go_on)?.0)
    }

    /// [`Self::run`], and when each bootstrap was made, in the order in which they ended.
    ///
    /// # Errors
    /// Those of [`Self::run`].
    pub fn run_timed(
        &self,
        program: &Program,
        inputs: &Ciphertexts,
        threads: usize,
        mut go_on: impl FnMut(usize, usize) -> bool,
    ) -> Result<(Ciphertexts, Vec<BootstrapTime>)> {
        check_owner(RUN, (self.0.parameters, self.0.id), inputs)?;
        self.check_arguments(program, inputs, threads)?;
        let run = Run::new(program, inputs);
        let workers = threads.min(run.schedule.bootstraps);
        system_memory::try_require_threads(workers)?;
        let ready = (0..program.nodes())
            .filter(|&node| run.schedule.needed[node] && run.schedule.waits[node] == 0);
        run.start(ready.collect(), self.0.parameters.lwe_length());
        thread::scope(|scope| {
            for thread in 0..workers {
                let worker = thread::Builder::new().name("cloakwork-boolean".into());
                let run = &run;
                let work = move || run.work_until_done(self, threads, thread);
                if let Err(error) = worker.spawn_scoped(scope, work) {
                    let reason = format!("no thread can be started: {error}");
                    run.stop(Error::InvalidArgument { operation: RUN, reason });
                }
            }
            run.watch(&mut go_on);
        });
        let (signals, times) = run.outputs()?;
        Ok((Ciphertexts { parameters: self.0.parameters, id: self.0.id, lwes: signals }, times))
    }

    fn check_arguments(
        &self,
        program: &Program,
        inputs: &Ciphertexts,
        threads: usize,
    ) -> Result<()> {
        let refused = |reason| Err(Error::InvalidArgument { operation: RUN, reason });
        if inputs.len() != program.inputs() {
            return refused(format!("expected {} inputs, got {}", program.inputs(), inputs.len()));
        }
        let (most, name) = (self.0.parameters.max_message_bits(), self.0.parameters.name());
        if program.message_bits() > most {
            let message_bits = program.message_bits();
            return refused(format!(
                "the parameters {name} have a message space of 2^{most}, the program needs \
                 2^{message_bits}"
            ));
        }
        if !(1..=MAX_THREADS).contains(&threads) {
            return refused(format!("expected 1 to {MAX_THREADS} threads, got {threads}"));
        }
        Ok(())
    }
}

/// When a bootstrap was made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BootstrapTime {
    /// Its number among the nodes of the program.
    pub node: usize,
    /// Seconds from the start of the run.
    pub start: f64,
    /// What it took: of several that were made together, each took an equal part, one after
    /// another.
    pub seconds: f64,
    /// Which of the run's threads made it, from 0 up.
    pub thread: usize,
}

/// A run under way.
struct Run<'p> {
    began: Instant,
    program: &'p Program,
    schedule: Schedule,
    state: Mutex<State>,
    /// There is more work, or none will come.
    work_changed: Condvar,
    /// Nothing is left to do.
    ended: Condvar,
}

struct State {
    /// By signal: itself, from when it is made until its last use.
    signals: Vec<Option<Lwe>>,
    /// By signal: the uses to come.
    uses: Vec<u32>,
    /// By node: the terms that are not there yet.
    waits: Vec<u32>,
    /// Bootstraps whose operands are there, by priority and then by order.
    ready: BinaryHeap<(Priority, Reverse<usize>)>,
    made: usize,
    times: Vec<BootstrapTime>,
    /// Why the run stopped early.
    failure: Option<Error>,
}

/// A node and its operands, taken out of the state.
struct Sum {
    node: usize,
    terms: Vec<(Lwe, i32)>,
}

impl<'p> Run<'p> {
    fn new(program: &'p Program, inputs: &Ciphertexts) -> Self {
        let schedule = Schedule::new(program, &Costs::default());
        let mut signals: Vec<_> = inputs.lwes.iter().cloned().map(Some).collect();
        signals.resize(program.signals(), None);
        let state = State {
            signals,
            uses: schedule.uses.clone(),
            waits: schedule.waits.clone(),
            ready: BinaryHeap::new(),
            made: 0,
            times: Vec::with_capacity(schedule.bootstraps),
            failure: None,
        };
        let state = Mutex::new(state);
        let (work_changed, ended) = (Condvar::new(), Condvar::new());
        Self { began: Instant::now(), program, schedule, state, work_changed, ended }
    }

    /// Nothing that holds the lock panics half-way through a change.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self, state: &State) -> bool {
        state.failure.is_some() || state.made == self.schedule.bootstraps
    }

    /// Makes the sums that need no bootstrap and lists the bootstraps that can begin.
    fn start(&self, ready: Vec<usize>, length: usize) {
        let sums = self.lock().sort_out(self, ready);
        self.add_up(sums, length);
    }

    fn stop(&self, failure: Error) {
        self.lock().failure.get_or_insert(failure);
        self.work_changed.notify_all();
        self.ended.notify_all();
    }

    fn watch(&self, go_on: &mut impl FnMut(usize, usize) -> bool) {
        let total = self.schedule.bootstraps;
        loop {
            let state = self.lock();
            let (made, over) = (state.made, self.is_over(&state));
            drop(state);
            let wanted = go_on(made, total);
            if over {
                return;
            }
            if !wanted {
                return self.stop(Error::Cancelled { made, total });
            }
            let more_to_do = |state: &mut State| !self.is_over(state);
            let waited = self.ended.wait_timeout_while(self.lock(), INTERVAL, more_to_do);
            drop(waited);
        }
    }

    /// A failure inside becomes the run's.
    fn work_until_done(&self, key: &EvaluationKey, threads: usize, thread: usize) {
        let work = AssertUnwindSafe(|| self.work(key, threads, thread));
        if let Err(panic) = catch_unwind(work) {
            if let Some(refused) = Refused::caught(&*panic) {
                return self.stop(refused.into());
            }
            let message = panic.downcast_ref::<String>().map(String::as_str);
            let message = message.or_else(|| panic.downcast_ref::<&str>().copied());
            self.stop(Error::Fault { reason: message.unwrap_or("a panic").into() });
        }
    }

    fn work(&self, key: &EvaluationKey, threads: usize, thread: usize) {
        let length = key.0.parameters.lwe_length();
        let mut bootstrapper = Bootstrapper::new(key);
        while let Some(sums) = self.next(threads) {
            let nodes: Vec<usize> = sums.iter().map(|sum| sum.node).collect();
            let tasks: Vec<Task<'_>> = sums
                .into_iter()
                .map(|sum| Task {
                    tables: self.program.tables(sum.node),
                    lwe: sum.add_up(self.program, length),
                })
                .collect();
            let start = self.began.elapsed().as_secs_f64();
            let mut outputs = bootstrapper.run(&tasks);
            let seconds = (self.began.elapsed().as_secs_f64() - start) / nodes.len() as f64;
            let times = nodes.iter().enumerate().map(|(place, &node)| {
                let start = start + place as f64 * seconds;
                BootstrapTime { node, start, seconds, thread }
            });
            self.lock().times.extend(times);
            for (&node, outputs) in nodes.iter().zip(&mut outputs) {
                let constants = self.program.output_constants(node);
                for (signal, &constant) in outputs.iter_mut().zip(constants) {
                    signal[length - 1] = signal[length - 1].wrapping_add(constant);
                }
            }
            self.deliver(nodes.into_iter().zip(outputs).collect(), length);
        }
    }

    /// The bootstraps that a thread makes now, after waiting for one; None at the end.
    fn next(&self, threads: usize) -> Option<Vec<Sum>> {
        let idle = |state: &mut State| state.ready.is_empty() && !self.is_over(state);
        let mut state =
            self.work_changed.wait_while(self.lock(), idle).unwrap_or_else(PoisonError::into_inner);
        if self.is_over(&state) {
            return None;
        }
        let share = state.ready.len().div_ceil(threads).min(MAX_BATCH);
        let nodes: Vec<_> = (0..share).filter_map(|_| state.ready.pop()).collect();
        Some(nodes.into_iter().map(|(_, Reverse(node))| state.take(self.program, node)).collect())
    }

    /// Takes in what bootstraps gave, and makes the sums that waited for nothing else.
    fn deliver(&self, made: Vec<(usize, Vec<Vec<u32>>)>, length: usize) {
        let mut state = self.lock();
        let count = made.len();
        let ready =
            made.into_iter().flat_map(|(node, outputs)| state.put(self, node, outputs)).collect();
        let sums = state.sort_out(self, ready);
        drop(state);
        self.work_changed.notify_all();
        self.add_up(sums, length);
        // Only now: whoever sees the last bootstrap made takes the outputs.
        let mut state = self.lock();
        state.made += count;
        let over = self.is_over(&state);
        drop(state);
        self.work_changed.notify_all();
        if over {
            self.ended.notify_all();
        }
    }

    /// Makes sums, and those that then have their operands, until only bootstraps are left.
    fn add_up(&self, mut sums: Vec<Sum>, length: usize) {
        while let Some(sum) = sums.pop() {
            let node = sum.node;
            let made = sum.add_up(self.program, length);
            let mut state = self.lock();
            let ready = state.put(self, node, vec![made]);
            sums.extend(state.sort_out(self, ready));
        }
    }

    fn outputs(self) -> Result<(Vec<Lwe>, Vec<BootstrapTime>)> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        if let Some(failure) = state.failure {
            return Err(failure);
        }
        let signal = |&signal: &u32| {
            state.signals[signal as usize]
                .clone()
                .ok_or_else(|| Error::Fault { reason: format!("signal {signal} was not made") })
        };
        let outputs = self.program.output_signals().iter().map(signal).collect::<Result<_>>()?;
        Ok((outputs, state.times))
    }
}

impl State {
    /// Keeps what a node made, where it is used, and gives the nodes that now can begin.
    fn put(&mut self, run: &Run<'_>, node: usize, outputs: Vec<Vec<u32>>) -> Vec<usize> {
        let mut ready = Vec::new();
        for (signal, output) in run.program.made(node).zip(outputs) {
            if self.uses[signal] > 0 {
                self.signals[signal] = Some(output.into());
            }
            for &user in run.schedule.users(signal) {
                let waits = &mut self.waits[user as usize];
                *waits -= 1;
                if *waits == 0 {
                    ready.push(user as usize);
                }
            }
        }
        ready
    }

    /// Lists the bootstraps among nodes that can begin, and gives the others.
    fn sort_out(&mut self, run: &Run<'_>, ready: Vec<usize>) -> Vec<Sum> {
        let (bootstraps, linear): (Vec<usize>, Vec<usize>) =
            ready.into_iter().partition(|&node| run.program.is_bootstrap(node));
        let priorities = &run.schedule.priorities;
        self.ready.extend(bootstraps.into_iter().map(|node| (priorities[node], Reverse(node))));
        linear.into_iter().map(|node| self.take(run.program, node)).collect()
    }

    /// The operands of a node; none that was used for the last time stays.
    fn take(&mut self, program: &Program, node: usize) -> Sum {
        let terms = program.terms(node).map(|(signal, weight)| {
            self.uses[signal] -= 1;
            let operand = match self.uses[signal] {
                0 => self.signals[signal].take(),
                _ => self.signals[signal].clone(),
            };
            (operand.expect("a signal stays until its last use"), weight)
        });
        Sum { node, terms: terms.collect() }
    }
}

impl Sum {
    fn add_up(self, program: &Program, length: usize) -> Vec<u32> {
        let mut sum = vec![0_u32; length];
        sum[length - 1] = program.constant(self.node);
        for (signal, weight) in self.terms {
            let weight = weight as u32;
            for (x, &y) in sum.iter_mut().zip(&*signal) {
                *x = x.wrapping_add(y.wrapping_mul(weight));
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parameters, ProgramArrays, SecretKey};

    /// A message space above the places of the test polynomial, which `run` would have refused.
    #[test]
    fn a_panic_of_a_thread_ends_the_run_as_a_fault() {
        let program = Program::new(ProgramArrays {
            inputs: 1,
            kinds: vec![1],
            term_starts: vec![0, 1],
            term_signals: vec![0],
            term_weights: vec![1],
            constants: vec![0],
            message_bits: vec![8],
            output_starts: vec![0, 4],
            // No rotations of one another.
            tables: (0..4 << 7).collect(),
            output_constants: vec![0; 4],
            output_signals: vec![1],
        })
        .unwrap();
        let secret = SecretKey::generate(Parameters::named("space4").unwrap()).unwrap();
        let key = secret.evaluation_key().unwrap();
        let run = Run::new(&program, &secret.encrypt(&[0], &[1]).unwrap());
        run.start(vec![0], secret.parameters().lwe_length());
        thread::scope(|scope| {
            scope.spawn(|| run.work_until_done(&key, 1, 0));
            run.watch(&mut |_, _| true);
        });
        let Err(Error::Fault { reason }) = run.outputs() else { panic!("no fault") };
        assert!(reason.contains("divide by zero"), "{reason}");
    }
}

//! Welch's test, and what a comparison of two classes of times is made of.

/// Times above the median and so on, up to those that one time in 2^10 exceeds, are left out.
const CROPS: u32 = 100;
/// Fewer times than this say nothing.
const ENOUGH: f64 = 10_000.0;

/// Counts, means and sums of squared differences of two classes of numbers.
///
/// B. L. Welch, "The generalization of Student's problem when several different population
/// variances are involved", Biometrika 34, 1947.
#[derive(Clone, Copy, Default)]
struct Welch {
    counts: [f64; 2],
    means: [f64; 2],
    squares: [f64; 2],
}

impl Welch {
    fn push(&mut self, class: usize, value: f64) {
        self.counts[class] += 1.0;
        let difference = value - self.means[class];
        self.means[class] += difference / self.counts[class];
        self.squares[class] += difference * (value - self.means[class]);
    }

    /// How many standard errors the means are apart; 0 where there are too few numbers.
    fn t(&self) -> f64 {
        if self.counts.iter().sum::<f64>() < ENOUGH || self.counts.contains(&0.0) {
            return 0.0;
        }
        let variance = |class: usize| self.squares[class] / (self.counts[class] - 1.0);
        let error = (0..2).map(|class| variance(class) / self.counts[class]).sum::<f64>().sqrt();
        if error == 0.0 { 0.0 } else { (self.means[0] - self.means[1]).abs() / error }
    }
}

/// The times of two classes: all of them, those below each of several limits, and their spread.
///
/// O. Reparaz, J. Balasch, I. Verbauwhede, "Dude, is my code constant time?", DATE 2017.
pub struct Comparison {
    limits: Vec<u32>,
    cropped: Vec<Welch>,
    all: Welch,
    spread: Welch,
}

impl Comparison {
    /// A comparison whose limits are quantiles of some times of both classes, which do not count.
    pub fn new(mut times: Vec<u32>) -> Self {
        times.sort_unstable();
        let quantile = |crop: u32| {
            let share = 1.0 - 0.5_f64.powf(f64::from(10 * (crop + 1)) / f64::from(CROPS));
            times[(share * times.len() as f64) as usize]
        };
        let limits: Vec<u32> = (0..CROPS).map(quantile).collect();
        let cropped = vec![Welch::default(); limits.len()];
        Self { limits, cropped, all: Welch::default(), spread: Welch::default() }
    }

    /// Adds a time of a class, 0 or 1.
    pub fn push(&mut self, class: usize, time: u32) {
        self.all.push(class, f64::from(time));
        for (limit, test) in self.limits.iter().zip(&mut self.cropped) {
            if time < *limit {
                test.push(class, f64::from(time));
            }
        }
        if self.all.counts[class] > ENOUGH {
            self.spread.push(class, (f64::from(time) - self.all.means[class]).powi(2));
        }
    }

    /// The largest t of any test; from 4.5 on the classes take different times.
    pub fn largest_t(&self) -> f64 {
        let tests = self.cropped.iter().chain([&self.all, &self.spread]);
        tests.map(Welch::t).fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Times of a generator of numbers from 0 to 999, those of class 1 longer by `later`.
    fn largest_t(later: u32) -> f64 {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) as u32
        };
        let mut comparison = Comparison::new((0..1000).map(|_| next() % 1000).collect());
        for _ in 0..100_000 {
            let class = next() as usize >> 20 & 1;
            comparison.push(class, next() % 1000 + later * class as u32);
        }
        comparison.largest_t()
    }

    #[test]
    fn classes_of_one_distribution_are_not_told_apart() {
        assert!(largest_t(0) < 4.5);
    }

    #[test]
    fn a_difference_of_a_twentieth_of_the_deviation_is_found() {
        assert!(largest_t(15) > 4.5);
    }
}

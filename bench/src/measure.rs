//! Measurement of time, allocations and memory.

use std::{
    fs,
    path::PathBuf,
    time::{Duration, Instant},
};

/// How long and how often to measure.
#[derive(Debug, Clone)]
pub(crate) struct Effort {
    pub(crate) is_quick: bool,
    pub(crate) is_full: bool,
    /// The only engine of the log to measure, where there is a choice.
    pub(crate) engine: Option<&'static str>,
    /// Where plots are written, if they are.
    pub(crate) plots: Option<PathBuf>,
    /// The number of samples for a time.
    samples: usize,
    /// The duration of one sample of a short operation.
    sample: Duration,
    /// The number of repetitions of something long, such as a whole capture.
    pub(crate) rounds: usize,
    /// The number of turns streamed for one sample.
    pub(crate) turns: usize,
    /// The number of holds to open.
    pub(crate) holds: usize,
    /// The number of waiting connections of each kind.
    pub(crate) waiting: usize,
}

/// The argument that starts this program as the measured process.
pub(crate) const CHILD: &str = "--child";

impl Effort {
    pub(crate) fn new(is_quick: bool, is_full: bool) -> Self {
        let (holds, waiting) = if is_full { (100_000, 10_000) } else { (20_000, 2_000) };
        let (plots, engine) = (None, None);
        let (samples, millis, rounds, turns) = if is_quick { (9, 2, 3, 2) } else { (101, 10, 9, 5) };
        let (holds, waiting) = if is_quick { (5_000, 500) } else { (holds, waiting) };
        let sample = Duration::from_millis(millis);
        Self { is_quick, is_full, plots, engine, samples, sample, rounds, turns, holds, waiting }
    }
}

/// Samples of one quantity, in one unit, in the order in which they were taken.
#[derive(Debug, Clone)]
pub(crate) struct Samples(pub(crate) Vec<f64>);

impl Samples {
    pub(crate) fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    /// The 10th percentile.
    pub(crate) fn low(&self) -> f64 {
        self.quantile(0.1)
    }

    /// The 90th percentile.
    pub(crate) fn high(&self) -> f64 {
        self.quantile(0.9)
    }

    pub(crate) fn map(&self, each: impl FnMut(f64) -> f64) -> Self {
        Self(self.0.iter().copied().map(each).collect())
    }

    /// The ratio to `ours`, sample by sample: samples taken together saw the same machine.
    pub(crate) fn times(&self, ours: &Self) -> Self {
        Self(self.0.iter().zip(&ours.0).map(|(other, own)| other / own).collect())
    }

    /// The 99th percentile.
    pub(crate) fn highest(&self) -> f64 {
        self.quantile(0.99)
    }

    fn quantile(&self, quantile: f64) -> f64 {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let last = sorted.len().saturating_sub(1) as f64;
        let at = (last * quantile).round() as usize;
        sorted.get(at).copied().unwrap_or(f64::NAN)
    }
}

/// One of several operations that are timed side by side: a call, and the number of operations it performs.
pub(crate) struct Timed<'a> {
    pub(crate) operations: usize,
    pub(crate) call: Box<dyn FnMut() + 'a>,
}

impl<'a> Timed<'a> {
    pub(crate) fn new(operations: usize, call: impl FnMut() + 'a) -> Self {
        Self { operations, call: Box::new(call) }
    }
}

/// Nanoseconds per operation. The samples are interleaved, so that a busy moment of the machine affects all alike and
/// the ratios hold.
pub(crate) fn time(effort: &Effort, mut all: Vec<Timed<'_>>) -> Vec<Samples> {
    let calls: Vec<u32> = all.iter_mut().map(|timed| calls_in(effort.sample, timed)).collect();
    let mut nanos = vec![Vec::with_capacity(effort.samples); all.len()];
    for _ in 0..effort.samples {
        for (at, timed) in all.iter_mut().enumerate() {
            let taken = run(timed, calls[at]).as_nanos() as f64;
            nanos[at].push(taken / f64::from(calls[at]) / timed.operations as f64);
        }
    }
    nanos.into_iter().map(Samples).collect()
}

/// The number of calls that take about as long as a sample should. Also warms up.
fn calls_in(sample: Duration, timed: &mut Timed<'_>) -> u32 {
    let mut calls = 1;
    loop {
        let taken = run(timed, calls);
        if taken >= sample || calls >= u32::MAX / 2 {
            return calls;
        }
        calls *= 2;
    }
}

fn run(timed: &mut Timed<'_>, calls: u32) -> Duration {
    let begin = Instant::now();
    for _ in 0..calls {
        (timed.call)();
    }
    begin.elapsed()
}

/// The number of allocations of `call`, including reallocations, and the peak number of bytes beyond those at the
/// start.
pub(crate) fn allocations(call: impl FnOnce()) -> Allocations {
    let session = alloc_tracker::Session::new().no_stdout().no_file();
    let operation = session.operation("call");
    {
        let _span = operation.measure_thread().iterations(1);
        call();
    }
    let report = session.to_report();
    let (_, counted) = report.operations().next().expect("one operation was measured");
    Allocations { count: counted.total_allocations_count(), peak: counted.peak_outstanding_bytes().unwrap_or_default() }
}

/// The result of [`allocations`].
#[derive(Debug)]
pub(crate) struct Allocations {
    pub(crate) count: u64,
    pub(crate) peak: f64,
}

/// The peak growth in bytes of this process's resident memory while `call` runs. `None` if the system does not report
/// it.
pub(crate) fn resident_growth(call: impl FnOnce()) -> Option<u64> {
    // Resets the high-water mark to the current resident memory.
    let is_reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = resident();
    call();
    let peak = status("VmHWM:")?;
    is_reset.then_some(peak.saturating_sub(before?))
}

/// The resident memory of this process in bytes.
pub(crate) fn resident() -> Option<u64> {
    status("VmRSS:")
}

fn status(key: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;

    use super::*;

    #[test]
    fn allocations_are_counted() {
        assert_eq!(allocations(|| ()).count, 0);
        let two = allocations(|| {
            let mut bytes: Vec<u8> = black_box(Vec::with_capacity(1000));
            bytes.resize(1001, 1);
            black_box(&bytes);
        });
        assert_eq!(two.count, 2);
        assert!((1001.0..4000.0).contains(&two.peak), "{two:?}");
    }

    #[test]
    fn samples_have_a_median_and_ends() {
        let samples = Samples((0..=100).rev().map(f64::from).collect());
        assert_eq!((samples.low(), samples.median(), samples.high()), (10.0, 50.0, 90.0));
        assert_eq!(samples.map(|n| n * 2.0).median(), 100.0);
        assert!(Samples(Vec::new()).median().is_nan());
        let (fast, slow) = (Samples(vec![1.0, 10.0, 1.0]), Samples(vec![3.0, 30.0, 3.0]));
        let times = slow.times(&fast);
        assert_eq!((times.low(), times.high()), (3.0, 3.0));
    }

    #[test]
    fn times_are_for_one_operation() {
        let effort = Effort::new(true, false);
        let wait = || std::thread::sleep(Duration::from_millis(1));
        let times = time(&effort, vec![Timed::new(1, wait), Timed::new(10, wait)]);
        assert!(times[0].median() >= 1e6 && times[1].median() < times[0].median());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn resident_memory_is_seen() {
        let grown = resident_growth(|| drop(black_box(vec![1_u8; 50_000_000])));
        assert!(grown.is_some_and(|bytes| bytes > 40_000_000), "{grown:?}");
    }
}

//! The clock of the measured windows. It knows its source, its precision and the cost of a reading.
//! Where the processor's counter is not trusted, it reads the kernel's clock.

use linux::Root;
use model::{TimerFacts, TimerSource};

use crate::Error;
use crate::tick_counter;

/// How long to compare the counter with the kernel's clock. With readings that differ by about 50
/// ns at each end, the rate is accurate to 1 in 100 000.
const CALIBRATION_NS: u64 = 10_000_000;

/// Readings of both clocks at each end, of which the closest pair counts: an interruption between
/// two readings spoils some pairs, not all.
const CALIBRATION_READINGS: usize = 32;

/// Readings used to determine precision and overhead.
const OVERHEAD_READINGS: usize = 1001;

/// Kernel clock sources under which the kernel itself relies on the counter for time or reads it
/// (kernel, arch/x86/kernel/tsc.c, kvmclock.c, drivers/clocksource/hyperv_timer.c,
/// arch/x86/xen/time.c).
const TRUSTED_CLOCK_SOURCES: [&str; 5] = [
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "xen",
    "arch_sys_counter",
];

/// A clock whose precision and overhead have been measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Timer {
    facts: TimerFacts,
    ns_per_tick: f64,
}

impl Timer {
    /// Selects and measures the clock of this machine. Takes about 10 ms.
    ///
    /// # Errors
    /// When the file that names the kernel's clock source is malformed.
    pub fn new(root: &Root) -> Result<Self, Error> {
        let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
        let clock_source = root.read_optional(path)?;
        let is_trusted = match &clock_source {
            Some(file) => TRUSTED_CLOCK_SOURCES.contains(&file.name()?),
            None => false,
        };
        match tick_counter::constant_rate_source() {
            Some(source) if is_trusted => Ok(Self::calibrated(source)),
            _ => Ok(Self::of_the_kernel()),
        }
    }

    /// Uses the kernel's clock.
    fn of_the_kernel() -> Self {
        Self::measured(TimerSource::ClockMonotonic, 1e9)
    }

    /// Uses the processor's counter, calibrated against the kernel's clock.
    fn calibrated(source: TimerSource) -> Self {
        let (begin_ns, begin_ticks) = both_clocks();
        while linux::clock::monotonic_ns() - begin_ns < CALIBRATION_NS {
            std::hint::spin_loop();
        }
        let (end_ns, end_ticks) = both_clocks();
        let seconds = (end_ns - begin_ns) as f64 / 1e9;
        Self::measured(source, (end_ticks - begin_ticks) as f64 / seconds)
    }

    fn measured(source: TimerSource, ticks_per_s: f64) -> Self {
        let mut timer = Timer {
            facts: TimerFacts {
                source,
                ticks_per_s,
                precision_ns: 0.0,
                overhead_ns: 0.0,
            },
            ns_per_tick: 1e9 / ticks_per_s,
        };
        let mut readings = [0; OVERHEAD_READINGS];
        for reading in &mut readings {
            *reading = timer.now();
        }
        let mut steps: Vec<u64> = readings.windows(2).map(|pair| pair[1] - pair[0]).collect();
        steps.sort_unstable();
        let smallest = steps.iter().find(|step| **step > 0).copied().unwrap_or(1);
        timer.facts.precision_ns = timer.ns_between(0, smallest);
        timer.facts.overhead_ns = timer.ns_between(0, steps[steps.len() / 2]);
        timer
    }

    /// Returns the clock's source, rate, precision and overhead.
    pub fn facts(&self) -> TimerFacts {
        self.facts
    }

    /// Returns the current time in ticks. Preceding loads have completed, and following ones have
    /// not started. Makes no system call where the clock source is the counter.
    #[inline]
    pub fn now(&self) -> u64 {
        match self.facts.source {
            TimerSource::ClockMonotonic => linux::clock::monotonic_ns(),
            TimerSource::Tsc | TimerSource::VirtualCounter => tick_counter::read(),
        }
    }

    /// Returns the approximate current time in ticks without ordering it against preceding or
    /// following instructions, so that polling it does not stall a loop.
    #[inline]
    pub fn glance(&self) -> u64 {
        match self.facts.source {
            TimerSource::ClockMonotonic => linux::clock::monotonic_ns(),
            TimerSource::Tsc | TimerSource::VirtualCounter => tick_counter::glance(),
        }
    }

    /// Returns the time between two readings in ns; 0 if the second is the earlier one.
    pub(crate) fn ns_between(&self, begin: u64, end: u64) -> f64 {
        end.saturating_sub(begin) as f64 * self.ns_per_tick
    }

    /// Converts ns to ticks.
    pub(crate) fn ticks_of(&self, ns: u64) -> u64 {
        (ns as f64 / self.ns_per_tick) as u64
    }

    /// Returns a clock for tests.
    #[cfg(test)]
    pub(crate) fn for_tests() -> Self {
        Timer::of_the_kernel()
    }
}

/// Reads both clocks at nearly the same time: the kernel's in ns, the counter in ticks.
fn both_clocks() -> (u64, u64) {
    let reading = |_| {
        let before = linux::clock::monotonic_ns();
        let ticks = tick_counter::read();
        let after = linux::clock::monotonic_ns();
        (after - before, before + (after - before) / 2, ticks)
    };
    let readings = (0..CALIBRATION_READINGS).map(reading);
    let (_, ns, ticks) = readings
        .min_by_key(|(width, _, _)| *width)
        .expect("several readings are made");
    (ns, ticks)
}

#[cfg(test)]
mod tests {
    use linux::Root;
    use model::TimerSource;

    use super::Timer;

    #[test]
    fn the_clock_of_this_machine_agrees_with_the_kernel() {
        let timer = Timer::new(&Root::live()).unwrap();
        let facts = timer.facts();
        assert!(
            facts.precision_ns > 0.0 && facts.precision_ns < 1e6,
            "{facts:?}"
        );
        assert!(facts.overhead_ns < 1e6, "{facts:?}");
        let (begin, begin_ns) = (timer.now(), linux::clock::monotonic_ns());
        while linux::clock::monotonic_ns() - begin_ns < 20_000_000 {}
        let (end, end_ns) = (timer.now(), linux::clock::monotonic_ns());
        let ratio = timer.ns_between(begin, end) / (end_ns - begin_ns) as f64;
        // Another process may run between two readings, here and in the calibration.
        assert!((0.9..1.1).contains(&ratio), "{ratio} {facts:?}");
    }

    #[test]
    fn the_clock_of_the_kernel_ticks_in_nanoseconds() {
        let timer = Timer::for_tests();
        assert_eq!(timer.facts().source, TimerSource::ClockMonotonic);
        assert_eq!(timer.ns_between(5, 12), 7.0);
        assert_eq!(timer.ns_between(12, 5), 0.0);
        assert_eq!(timer.ticks_of(1000), 1000);
    }
}

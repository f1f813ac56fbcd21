//! Counters of the whole machine that reveal disturbed measurements.

use crate::{Error, Root, TextFile};

/// Counters since boot.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MachineCounters {
    /// Seconds the hypervisor gave to other guests while a CPU was ready, over all CPUs (`steal`,
    /// the eighth number of the line `cpu` of /proc/stat; proc_stat(5)).
    pub steal_s: Option<f64>,
    /// Seconds of CPU time used, over all CPUs: user, nice, system, irq and softirq time.
    pub busy_s: Option<f64>,
    /// Pages moved by NUMA balancing (`numa_pages_migrated` of /proc/vmstat); `None` in a kernel
    /// without balancing.
    pub numa_pages_migrated: Option<u64>,
}

/// Ticks per second in /proc/stat: `USER_HZ`, 100 on every architecture on which Linux runs
/// databases (include/asm-generic/param.h).
const USER_HZ: f64 = 100.0;

/// Reads the counters.
///
/// # Errors
/// When a file exists but is malformed.
pub fn read(root: &Root) -> Result<MachineCounters, Error> {
    let stat = root.read_start("proc/stat", 4096)?;
    let vmstat = root.read_optional("proc/vmstat")?;
    let seconds = stat
        .as_ref()
        .map(cpu_seconds)
        .transpose()?
        .unwrap_or_default();
    let of = |columns: &[usize]| {
        let parts = columns.iter().map(|column| seconds.get(*column).copied());
        parts.sum::<Option<f64>>()
    };
    Ok(MachineCounters {
        steal_s: of(&[STEAL]),
        busy_s: of(&BUSY),
        numa_pages_migrated: vmstat.as_ref().map(migrated).transpose()?.flatten(),
    })
}

/// Columns of the line `cpu` that count as work: user, nice, system, irq, softirq.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];
/// Column of the line `cpu` with the time given to other guests.
const STEAL: usize = 7;

/// The columns of the line `cpu` in seconds; empty when there is no such line.
///
/// One real line: `cpu  2255 34 2290 22625563 6290 127 456 12 0 0`.
fn cpu_seconds(file: &TextFile) -> Result<Vec<f64>, Error> {
    let line = file
        .lines()
        .find_map(|(number, line)| Some((number, line.strip_prefix("cpu ")?)));
    let Some((number, columns)) = line else {
        return Ok(Vec::new());
    };
    let seconds = columns.split_ascii_whitespace().map(|field| {
        let ticks: Result<u64, _> = field.parse();
        ticks
            .map(|ticks| ticks as f64 / USER_HZ)
            .map_err(|_| file.malformed(number, "ticks", field))
    });
    seconds.collect()
}

/// One real line: `numa_pages_migrated 0`.
fn migrated(file: &TextFile) -> Result<Option<u64>, Error> {
    let label = "numa_pages_migrated ";
    let line = file
        .lines()
        .find_map(|(number, line)| Some((number, line.strip_prefix(label)?)));
    let Some((number, text)) = line else {
        return Ok(None);
    };
    text.trim()
        .parse()
        .map(Some)
        .map_err(|_| file.malformed(number, "a number of pages", text))
}

#[cfg(test)]
mod tests {
    use super::{STEAL, cpu_seconds, migrated, read};
    use crate::{Root, TextFile};

    #[test]
    fn the_columns_are_ticks_of_ten_milliseconds() {
        let line = "cpu  2255 34 2290 22625563 6290 127 456 12 0 0\ncpu0 1 2 3\n";
        let seconds = cpu_seconds(&TextFile::new("/proc/stat", line)).unwrap();
        assert_eq!((seconds[0], seconds[STEAL]), (22.55, 0.12));
        assert!(
            cpu_seconds(&TextFile::new("/proc/stat", "intr 5\n"))
                .unwrap()
                .is_empty()
        );
        assert!(cpu_seconds(&TextFile::new("/proc/stat", "cpu  1 2 x\n")).is_err());
    }

    #[test]
    fn a_kernel_without_balancing_has_no_count() {
        assert_eq!(
            migrated(&TextFile::new("/proc/vmstat", "nr_free 1\n")).unwrap(),
            None
        );
        let text = "nr_free 1\nnuma_pages_migrated 77\n";
        assert_eq!(
            migrated(&TextFile::new("/proc/vmstat", text)).unwrap(),
            Some(77)
        );
    }

    #[test]
    fn this_machine_has_counters() {
        let counters = read(&Root::live()).unwrap();
        assert!(counters.steal_s.is_some() && counters.busy_s > Some(0.0));
    }
}

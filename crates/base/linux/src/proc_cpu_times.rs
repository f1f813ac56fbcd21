//! Time that each CPU has worked since boot (/proc/stat; proc_stat(5)).

use std::collections::BTreeMap;

use model::CpuId;

use crate::{Error, Root, TextFile};

/// Ticks per second in /proc/stat: `USER_HZ`, 100 on every architecture on which Linux runs
/// databases (include/asm-generic/param.h).
const USER_HZ: f64 = 100.0;

/// Columns that count as work: user, nice, system, irq, softirq.
const BUSY: [usize; 5] = [0, 1, 2, 5, 6];

/// Column with the time given to other guests (since 2.6.11).
const STEAL: usize = 7;

/// Times since boot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CpuTimes {
    /// Seconds that each CPU online has worked.
    pub busy_s: BTreeMap<CpuId, f64>,
    /// Seconds that the hypervisor gave to other guests while a CPU was ready, over all CPUs.
    pub steal_s: Option<f64>,
}

/// Reads the times; `None` where there is no such file.
///
/// # Errors
/// When the file is malformed.
pub fn read(root: &Root) -> Result<Option<CpuTimes>, Error> {
    let file = root.read_optional("proc/stat")?;
    file.map(|file| parse(&file)).transpose()
}

/// `cpu  2255 34 2290 22625563 6290 127 456 12 0 0`, then `cpu0 1132 …`.
fn parse(file: &TextFile) -> Result<CpuTimes, Error> {
    let mut times = CpuTimes::default();
    for (number, line) in file.lines() {
        // The lines of CPUs are the first ones; that of interrupts is long.
        let Some(rest) = line.strip_prefix("cpu") else {
            break;
        };
        let (id, columns) = rest.split_once(' ').unwrap_or((rest, ""));
        let seconds = columns.split_ascii_whitespace().map(|field| {
            let ticks = field.parse::<u64>();
            let ticks = ticks.map_err(|_| file.malformed(number, "ticks", field));
            ticks.map(|ticks| ticks as f64 / USER_HZ)
        });
        let seconds: Vec<f64> = seconds.collect::<Result<_, _>>()?;
        if id.is_empty() {
            times.steal_s = seconds.get(STEAL).copied();
            continue;
        }
        let id = id
            .parse()
            .map_err(|_| file.malformed(number, "cpuN", line))?;
        let busy = BUSY.map(|column| seconds.get(column).copied());
        if let Some(busy) = busy.into_iter().sum::<Option<f64>>() {
            times.busy_s.insert(CpuId(id), busy);
        }
    }
    Ok(times)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<CpuTimes, Error> {
        parse(&TextFile::new("/stat", text))
    }

    #[test]
    fn each_cpu_has_its_own_time() {
        let text = "cpu  300 0 100 9 9 0 0 50 0 0\ncpu0 100 0 100 9 9 0 0 0 0 0\n\
                    cpu7 200 0 0 9 9 1 2 50 0 0\nintr 1 2 3\ncpu9 x\n";
        let times = of(text).unwrap();
        let expected = [(CpuId(0), 2.0), (CpuId(7), 2.03)];
        assert_eq!(times.busy_s, expected.into());
        assert_eq!(times.steal_s, Some(0.5));
    }

    #[test]
    fn a_kernel_of_2005_has_no_steal_time_and_that_is_unknown() {
        let times = of("cpu  1 2 3 4 5 6 7\ncpu0 1 2 3 4 5 6 7\n").unwrap();
        assert_eq!((times.steal_s, times.busy_s.len()), (None, 1));
        assert_eq!(of("cpu0 1 2\n").unwrap().busy_s, BTreeMap::new());
        assert!(of("cpu0 1 x\n").is_err() && of("cpux 1 2\n").is_err());
    }

    #[test]
    fn no_text_panics() {
        testing::any_text(
            "(cpu[0-9x]{0,12}( [0-9a]{0,22}){0,12}\n?){0,5}\\PC{0,9}",
            &|text| {
                let _ = of(text);
            },
        );
    }
}

//! The limit of CPU time of a cgroup, in both versions: written and read (kernel,
//! Documentation/scheduler/sched-bwc.rst).

use std::path::{Path, PathBuf};

use linux::control_group;

use crate::Error;

/// The period of a quota: the kernel's default (100 ms; sched-bwc in its documentation).
const PERIOD_US: u64 = 100_000;
/// The smallest quota that the kernel accepts.
const QUOTA_US_MIN: u64 = 1000;

/// The file that limits CPU time, and what to write there (`cpu.max`, `cpu.cfs_quota_us`).
pub(crate) fn limit_file(directory: &Path, cpus: f64) -> (PathBuf, String) {
    let quota_us = ((cpus * PERIOD_US as f64).round() as u64).max(QUOTA_US_MIN);
    let unified = directory.join("cpu.max");
    match unified.exists() {
        true => (unified, format!("{quota_us} {PERIOD_US}")),
        false => (directory.join("cpu.cfs_quota_us"), quota_us.to_string()),
    }
}

/// Limits the CPU time of a cgroup.
pub(crate) fn write_limit(directory: &Path, cpus: f64) -> Result<(), Error> {
    let (file, value) = limit_file(directory, cpus);
    Ok(control_group::write(&file, &value)?)
}

/// The limit of CPU time of a cgroup, in CPUs; `None` without one.
pub(crate) fn limit_of(directory: &Path) -> Option<f64> {
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| *number > 0.0);
    if let Ok(text) = control_group::read(&directory.join("cpu.max")) {
        // `150000 100000`, or `max 100000`
        let (quota, period) = text.split_once(' ')?;
        return Some(number(quota)? / number(period)?);
    }
    let read = |name: &str| control_group::read(&directory.join(name)).ok();
    let quota = number(&read("cpu.cfs_quota_us")?)?;
    Some(quota / number(&read("cpu.cfs_period_us")?)?)
}

#[cfg(test)]
mod tests {
    use super::{limit_file, limit_of};

    #[test]
    fn a_limit_is_read_as_it_was_written() {
        for (file, period, limit, expected) in [
            ("cpu.max", None, 1.5, "150000 100000"),
            ("cpu.max", None, 0.001, "1000 100000"),
            ("cpu.cfs_quota_us", Some("100000\n"), 2.0, "200000"),
        ] {
            let directory = tempfile::tempdir().unwrap();
            std::fs::write(directory.path().join(file), "-1\n").unwrap();
            if let Some(period) = period {
                std::fs::write(directory.path().join("cpu.cfs_period_us"), period).unwrap();
            }
            assert_eq!(limit_of(directory.path()), None);
            let (path, value) = limit_file(directory.path(), limit);
            assert_eq!(value, expected);
            std::fs::write(path, value).unwrap();
            let read = limit_of(directory.path()).unwrap();
            assert!((read - limit.max(0.01)).abs() < 1e-9, "{read}");
        }
    }
}

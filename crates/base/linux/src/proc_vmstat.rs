//! `/proc/vmstat`: counters of moved pages (kernel, `mm/vmstat.c`). A kernel without a feature has
//! no line for it.

use crate::{Error, Root, TextFile};

/// Counters since boot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Vmstat {
    /// `numa_pages_migrated`: pages that NUMA balancing moved (since 3.8).
    pub numa_pages_migrated: Option<u64>,
    /// `numa_hint_faults`.
    pub numa_hint_faults: Option<u64>,
    /// `numa_hint_faults_local`.
    pub numa_hint_faults_local: Option<u64>,
    /// `pgmigrate_success`: pages moved between nodes for any reason.
    pub pages_migrated: Option<u64>,
}

/// Reads the counters; all are unknown where there is no such file.
///
/// # Errors
/// When one of these lines is malformed.
pub fn read(root: &Root) -> Result<Vmstat, Error> {
    let file = root.read_optional("proc/vmstat")?;
    Ok(file
        .map(|file| parse(&file))
        .transpose()?
        .unwrap_or_default())
}

/// `numa_hint_faults 4711`.
fn parse(file: &TextFile) -> Result<Vmstat, Error> {
    let mut counters = Vmstat::default();
    for (number, line) in file.lines() {
        let (name, value) = line.split_once(' ').unwrap_or((line, ""));
        let counter = match name {
            "numa_pages_migrated" => &mut counters.numa_pages_migrated,
            "numa_hint_faults" => &mut counters.numa_hint_faults,
            "numa_hint_faults_local" => &mut counters.numa_hint_faults_local,
            "pgmigrate_success" => &mut counters.pages_migrated,
            _ => continue,
        };
        let pages = value.trim().parse();
        *counter = Some(pages.map_err(|_| file.malformed(number, "a counter", value))?);
    }
    Ok(counters)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Result<Vmstat, Error> {
        parse(&TextFile::new("/vmstat", text))
    }

    #[test]
    fn a_counter_that_the_kernel_lacks_is_unknown() {
        let text = "nr_free_pages 1\nnuma_hint_faults 7\npgmigrate_success 9\n";
        let expected = Vmstat {
            numa_hint_faults: Some(7),
            pages_migrated: Some(9),
            ..Vmstat::default()
        };
        assert_eq!(of(text).unwrap(), expected);
        assert_eq!(of("").unwrap(), Vmstat::default());
        let error = of("a 1\nnuma_pages_migrated -1\n").unwrap_err();
        let expected = "/vmstat, line 2: expected a counter, found \"-1\"";
        assert_eq!(error.to_string(), expected);
    }

    #[test]
    fn no_text_panics() {
        testing::any_text(
            "((numa_hint_faults|\\PC{0,5}) ?[0-9x]{0,22}\n?){0,6}",
            &|text| {
                let _ = of(text);
            },
        );
    }
}

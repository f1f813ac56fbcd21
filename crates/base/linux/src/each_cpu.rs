//! Reads what each CPU says about itself, on several threads where there are many CPUs: a machine
//! with 1,152 of them has some 30 files for each.

use model::{CpuId, CpuSet};

use crate::{Error, on_threads};

/// A thread reads this many CPUs at once: that takes hundreds of microseconds.
const CPUS_AT_ONCE: usize = 16;

/// What `read` says of each CPU, ascending.
///
/// # Errors
/// That of the first CPU that has one.
pub fn of_each<T: Send>(
    cpus: &CpuSet,
    read: impl Fn(CpuId) -> Result<T, Error> + Sync,
) -> Result<Vec<(CpuId, T)>, Error> {
    let cpus: Vec<CpuId> = cpus.iter().collect();
    let answers = on_threads::map(&cpus, CPUS_AT_ONCE, |cpu| Ok((*cpu, read(*cpu)?)));
    answers.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use model::{CpuId, CpuSet};
    use proptest::prelude::*;

    use super::of_each;
    use crate::Error;

    fn error(cpu: CpuId) -> Error {
        Error::NoCpu {
            path: PathBuf::from(cpu.to_string()),
        }
    }

    proptest! {
        #[test]
        fn every_cpu_is_read_once_and_the_first_error_is_told(
            cpus in prop::collection::btree_set(0..5000_u32, 0..400),
            wrong in prop::collection::btree_set(0..5000_u32, 0..3),
        ) {
            let set: CpuSet = cpus.iter().copied().map(CpuId).collect();
            let read = |cpu: CpuId| match wrong.contains(&cpu.0) {
                true => Err(error(cpu)),
                false => Ok(cpu),
            };
            let found = of_each(&set, read);
            match cpus.iter().find(|cpu| wrong.contains(cpu)) {
                Some(first) => {
                    let expected = error(CpuId(*first)).to_string();
                    prop_assert_eq!(found.unwrap_err().to_string(), expected);
                }
                None => {
                    let expected: Vec<_> = set.iter().map(|cpu| (cpu, cpu)).collect();
                    prop_assert_eq!(found.unwrap(), expected);
                }
            }
        }
    }
}

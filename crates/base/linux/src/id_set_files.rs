//! Sets of ids that the kernel shows in two files of one directory, as a list and as a mask. Masks
//! are older, and older kernels have only them.

use model::{Id, IdSet};

use crate::{Error, Root};

/// Reads the set from the first file that exists, lists before masks; `None` when none does.
/// Several names stand for one file that was renamed, the current name first.
///
/// # Errors
/// When that file is malformed.
pub(crate) fn read<I: Id>(
    root: &Root,
    directory: &str,
    lists: &[&str],
    masks: &[&str],
) -> Result<Option<IdSet<I>>, Error> {
    for name in lists {
        if let Some(file) = root.read_optional(&format!("{directory}/{name}"))? {
            return file.id_list().map(Some);
        }
    }
    for name in masks {
        if let Some(file) = root.read_optional(&format!("{directory}/{name}"))? {
            return file.id_mask().map(Some);
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use model::CpuSet;

    use super::*;

    #[test]
    fn a_list_is_preferred_to_a_mask_and_a_present_name_to_an_old_one() {
        let directory = tempfile::tempdir().unwrap();
        let root = Root::at(directory.path()).unwrap();
        let put = |name: &str, text: &str| {
            std::fs::write(directory.path().join(name), text).unwrap();
        };
        let found = || -> Option<CpuSet> {
            let (lists, masks) = (["core_cpus_list", "thread_siblings_list"], ["core_cpus"]);
            read(&root, ".", &lists, &masks).unwrap()
        };
        let list = |text: &str| Some(text.parse::<CpuSet>().unwrap());
        assert_eq!(found(), None);
        put("core_cpus", "0000000f\n");
        assert_eq!(found(), list("0-3"));
        put("thread_siblings_list", "0-1\n");
        assert_eq!(found(), list("0-1"));
        put("core_cpus_list", "0\n");
        assert_eq!(found(), list("0"));
        // An empty file means unknown; an empty list means none.
        put("core_cpus_list", "");
        assert_eq!(found(), list("0-1"));
        put("core_cpus_list", "\n");
        assert_eq!(found(), list(""));
    }
}

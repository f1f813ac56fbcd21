//! Sets of ids as sysfs shows them: entries named by a word and a number (`node0`, `cpu17`), and
//! two files with the same set, as a list and as a mask. Masks are older, and older kernels have
//! only them.

use std::path::Path;

use model::{ID_MAX, Id, IdSet};

use crate::{Error, Root, TextFile};

/// The ids of the entries named `name` and a number; empty without the directory.
pub(crate) fn numbered_entries<I: Id>(
    root: &Root,
    directory: &str,
    name: &str,
) -> Result<IdSet<I>, Error> {
    let numbers = numbers(root, directory, name)?;
    Ok(numbers.into_iter().map(I::from_number).collect())
}

/// The numbers of the entries named `name` and a number, ascending; empty without the directory.
pub(crate) fn numbers(root: &Root, directory: &str, name: &str) -> Result<Vec<u32>, Error> {
    numbers_of(root.entries(directory)?, &root.path(directory), name)
}

/// As [`numbers`], of the entries of the directory at `path`.
pub(crate) fn numbers_of(
    entries: Option<Vec<String>>,
    path: &Path,
    name: &str,
) -> Result<Vec<u32>, Error> {
    let entries = entries.unwrap_or_default();
    let mut numbers = Vec::new();
    for entry in entries {
        let Some(digits) = entry.strip_prefix(name).filter(|digits| is_number(digits)) else {
            continue;
        };
        match digits.parse() {
            Ok(number) if number <= ID_MAX => numbers.push(number),
            _ => {
                return Err(Error::MalformedName {
                    path: path.join(&entry),
                    expected: format!("a number up to {ID_MAX} after \"{name}\""),
                });
            }
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Whether these are digits as the kernel writes them: at least one, and no leading zero.
fn is_number(digits: &str) -> bool {
    let all_digits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    all_digits && (digits == "0" || !digits.starts_with('0'))
}

/// Reads the set from the first file that `read` finds, lists before masks; `None` when it finds
/// none. Several names stand for one file that was renamed, the current name first.
///
/// # Errors
/// When that file is malformed.
pub(crate) fn id_set<I: Id>(
    read: impl Fn(&str) -> Result<Option<TextFile>, Error>,
    lists: &[&str],
    masks: &[&str],
) -> Result<Option<IdSet<I>>, Error> {
    for name in lists {
        if let Some(file) = read(name)? {
            return file.id_list().map(Some);
        }
    }
    for name in masks {
        if let Some(file) = read(name)? {
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
            id_set(|name| root.read_optional(name), &lists, &masks).unwrap()
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

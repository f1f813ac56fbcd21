//! Directories whose entries are named by a word and a number: `node0`, `cpu17`.

use model::{ID_MAX, Id, IdSet};

use crate::{Error, Root};

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
    let entries = root.entries(directory)?.unwrap_or_default();
    let mut numbers = Vec::new();
    for entry in entries {
        let Some(digits) = entry.strip_prefix(name).filter(|digits| is_number(digits)) else {
            continue;
        };
        match digits.parse() {
            Ok(number) if number <= ID_MAX => numbers.push(number),
            _ => {
                return Err(Error::MalformedName {
                    path: root.path(directory).join(&entry),
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

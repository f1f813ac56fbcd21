//! Names and counts for sentences.

use model::counted;

/// What is said wherever figures of such reads are shown.
pub(crate) const EMULATED_COST: &str = "emulated cost: what a read costs is read from a table, so \
    the figures say nothing about hardware; where memory lies is real";

/// Maximum length of a name in a sentence, in characters.
const NAME_CHARS: usize = 80;

/// Maximum number of names listed; of more, the last are counted.
const NAMES_LISTED: usize = 4;

/// Joins the parts with commas; returns `None` if there are none.
pub(crate) fn some_joined(said: impl Iterator<Item = String>) -> Option<String> {
    let said: Vec<String> = said.collect();
    (!said.is_empty()).then(|| said.join(", "))
}

/// Returns "A, B and 3 more".
pub(crate) fn names(names: &[&str]) -> String {
    let shown = match names.len() {
        ..=NAMES_LISTED => names.len(),
        _ => NAMES_LISTED - 1,
    };
    let mut words: Vec<String> = names[..shown].iter().map(|it| name(it)).collect();
    if names.len() > shown {
        words.push(format!("{} more", names.len() - shown));
    }
    match words.split_last() {
        Some((last, before)) if !before.is_empty() => format!("{} and {last}", before.join(", ")),
        _ => words.concat(),
    }
}

/// Returns "3 valid trials".
pub(crate) fn valid_trials(count: usize) -> String {
    counted(count, "valid trial")
}

/// Returns "3 trials".
pub(crate) fn trials(count: usize) -> String {
    counted(count, "trial")
}

/// Returns a name, truncated if it is too long.
pub(crate) fn name(name: &str) -> String {
    match name.char_indices().nth(NAME_CHARS) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_string(),
    }
}

//! The words of definitions: one table for each choice, from which parsing, messages and documents
//! derive.

/// One word of a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word<T> {
    /// The value it stands for.
    pub value: T,
    /// How it is written.
    pub name: &'static str,
    /// What it means, as a sentence fragment for documents.
    pub about: &'static str,
}

/// Returns the value that a word stands for.
pub(crate) fn value_of<T: Copy>(words: &[Word<T>], name: &str) -> Option<T> {
    words
        .iter()
        .find(|word| word.name == name)
        .map(|word| word.value)
}

/// Returns the words, separated by commas.
pub(crate) fn names<T>(words: &[Word<T>]) -> String {
    let names: Vec<&str> = words.iter().map(|word| word.name).collect();
    names.join(", ")
}

/// Returns the candidate most similar to `name`, if one is similar enough to be a likely
/// correction.
///
/// The limit of 0.75 on the Jaro–Winkler similarity accepts transposed, missing and doubled letters
/// and wrong endings, and rejects words that merely share a few letters.
pub(crate) fn nearest<'c>(
    name: &str,
    candidates: impl IntoIterator<Item = &'c str>,
) -> Option<&'c str> {
    const ALIKE_ENOUGH: f64 = 0.75;
    const CHARS_MAX: usize = 80;
    if name.chars().count() > CHARS_MAX {
        return None;
    }
    candidates
        .into_iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .filter(|(likeness, _)| *likeness >= ALIKE_ENOUGH)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_the_word_that_was_meant() {
        let words = ["first-node", "nearest", "farthest", "all"];
        let check = |name, expected| assert_eq!(nearest(name, words), expected, "{name}");
        check("fist-node", Some("first-node"));
        check("first_node", Some("first-node"));
        check("neerest", Some("nearest"));
        check("furthest", Some("farthest"));
        check("al", Some("all"));
        check("quantum", None);
        check("", None);
    }
}

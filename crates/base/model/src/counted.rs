//! Counts and lists in sentences: the only place that knows singular and plural.

use std::fmt::Display;

/// Returns `1 page`, or `2 pages`: a count with its noun, which is given in the singular.
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    match count.as_str() {
        "1" => format!("1 {noun}"),
        _ => format!("{count} {}", plural(noun)),
    }
}

/// Returns `node 1`, or `nodes 0-3`.
pub fn node_words(nodes: impl Display) -> String {
    listed("node", nodes)
}

/// Returns `CPU 1`, or `CPUs 0-3`.
pub fn cpu_words(cpus: impl Display) -> String {
    listed("CPU", cpus)
}

/// A list of ids after its noun. Whatever is not one id, such as `none` and `0,2`, is several.
fn listed(noun: &str, ids: impl Display) -> String {
    let ids = ids.to_string();
    match !ids.is_empty() && ids.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("{noun} {ids}"),
        false => format!("{} {ids}", plural(noun)),
    }
}

fn plural(noun: &str) -> String {
    let is_consonant = |letter: char| !"aeiou".contains(letter);
    match noun.strip_suffix('y') {
        Some(stem) if stem.ends_with(is_consonant) => format!("{stem}ies"),
        _ if noun.ends_with(['s', 'x']) || noun.ends_with("ch") => format!("{noun}es"),
        _ => format!("{noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_no_plural() {
        let check = |count: &dyn Display, noun: &str, expected: &str| {
            assert_eq!(counted(count, noun), expected);
        };
        check(&0, "page", "0 pages");
        check(&1, "page", "1 page");
        check(&11, "page", "11 pages");
        check(&1.0, "CPU", "1 CPU");
        check(&0.5, "CPU", "0.5 CPUs");
        check(&1, "process", "1 process");
        check(&2, "process", "2 processes");
        check(&2, "entry", "2 entries");
        check(&2, "day", "2 days");
        check(&2, "index", "2 indexes");
        check(&2, "switch", "2 switches");
        check(&2, "shared segment", "2 shared segments");
    }

    #[test]
    fn one_id_is_no_list() {
        let nodes = |list: &str| node_words(list.parse::<crate::NodeSet>().unwrap());
        assert_eq!(nodes("1"), "node 1");
        assert_eq!(nodes("10"), "node 10");
        assert_eq!(nodes("0-2"), "nodes 0-2");
        assert_eq!(nodes("0,2"), "nodes 0,2");
        assert_eq!(cpu_words("3"), "CPU 3");
        assert_eq!(cpu_words("none"), "CPUs none");
    }
}

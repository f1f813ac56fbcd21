//! Parses the pairs of nodes to measure a curve for.

use experiment::memory::CurvePairs;
use model::{ID_MAX, NodeId};

/// Parses `local`, `all`, or the node of the CPU and the node of the memory as in `0:3`.
pub(crate) fn parse(word: &str) -> Result<CurvePairs, String> {
    let id = |word: &str| {
        let is_number = !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit());
        let id: u32 = word.parse().ok().filter(|_| is_number)?;
        (id <= ID_MAX).then_some(NodeId(id))
    };
    match word {
        "local" => Ok(CurvePairs::Local),
        "all" => Ok(CurvePairs::All),
        _ => word
            .split_once(':')
            .and_then(|(from, to)| Some(CurvePairs::One(id(from)?, id(to)?)))
            .ok_or_else(|| "expected local, all, or two nodes as in 0:3".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use experiment::memory::CurvePairs;
    use model::NodeId;

    use super::parse;

    #[test]
    fn pairs_are_words_or_two_nodes() {
        assert_eq!(parse("local"), Ok(CurvePairs::Local));
        assert_eq!(parse("all"), Ok(CurvePairs::All));
        assert_eq!(parse("0:17"), Ok(CurvePairs::One(NodeId(0), NodeId(17))));
        for wrong in ["", ":", "0", "0:", "+1:2", "0:1:2", "99999999999:0", "a:b"] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}

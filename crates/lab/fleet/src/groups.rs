//! What machines that are compared have in common.

use std::collections::BTreeMap;

use model::{Topology, counted};

/// By what machines are grouped. Machines of different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GroupBy {
    /// By their processors alone.
    Model,
    /// Also by their rack.
    Rack(Racks),
}

/// The racks of machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Racks {
    /// The name of the host without its last number: `r07-` of `r07-n12`.
    ByName,
    /// What a table says, by host.
    Table(BTreeMap<String, String>),
}

impl GroupBy {
    /// The word for it.
    pub fn word(&self) -> &'static str {
        match self {
            GroupBy::Model => "model",
            GroupBy::Rack(_) => "rack",
        }
    }

    /// The name of the group of a machine.
    pub(crate) fn group(&self, host: &str, model: &str) -> String {
        match self {
            GroupBy::Model => model.to_owned(),
            GroupBy::Rack(racks) => match racks.rack(host) {
                Some(rack) => format!("{rack}: {model}"),
                None => format!("no rack: {model}"),
            },
        }
    }
}

impl Racks {
    /// The rack of a host; `None` where the table has none.
    fn rack<'a>(&'a self, host: &'a str) -> Option<&'a str> {
        match self {
            Racks::ByName => Some(without_last_number(host)),
            Racks::Table(table) => {
                let short = host.split('.').next().unwrap_or(host);
                let rack = table.get(host).or_else(|| table.get(short));
                rack.map(String::as_str)
            }
        }
    }

    /// Parses a table: a line for each host, `HOST,RACK`; empty lines and lines that begin with `#`
    /// say nothing.
    ///
    /// # Errors
    /// The line, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut table = BTreeMap::new();
        for (line, number) in text.lines().zip(1..) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let pair = line.split_once(',');
            let pair = pair.map(|(host, rack)| (host.trim(), rack.trim()));
            let Some((host, rack)) =
                pair.filter(|(host, rack)| !host.is_empty() && !rack.is_empty())
            else {
                return Err(format!("line {number}: expected HOST,RACK, found {line:?}"));
            };
            if let Some(other) = table.insert(host.to_owned(), rack.to_owned())
                && other != rack
            {
                return Err(format!(
                    "line {number}: {host:?} is in {other:?} by an earlier line"
                ));
            }
        }
        match table.is_empty() {
            true => Err("no host: expected lines of HOST,RACK".to_owned()),
            false => Ok(Racks::Table(table)),
        }
    }
}

/// The part of a name before its last number.
fn without_last_number(host: &str) -> &str {
    let short = host.split('.').next().unwrap_or(host);
    let Some(end) = short.rfind(|letter: char| letter.is_ascii_digit()) else {
        return short;
    };
    let before = short[..end].trim_end_matches(|letter: char| letter.is_ascii_digit());
    match before.trim_end_matches(['-', '_']) {
        "" => short,
        rack => rack,
    }
}

/// The processors of a machine, in words.
pub(crate) fn model_of(topology: &Topology) -> String {
    let name = topology.cpu_model.as_deref().unwrap_or("unknown processor");
    match topology.packages {
        Some(packages) => format!("{name}, {}", counted(packages, "socket")),
        None => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rack_is_the_name_without_its_last_number_or_what_a_table_says() {
        for (host, rack) in [
            ("r07-n12", "r07-n"),
            ("db3", "db"),
            ("rack1-7.example.org", "rack1"),
            ("mars", "mars"),
            ("10", "10"),
            ("", ""),
            ("é7", "é"),
        ] {
            assert_eq!(Racks::ByName.rack(host), Some(rack), "{host}");
        }
        let racks = Racks::parse("# host,rack\na,R1\n\n b , R 2 \n").unwrap();
        assert_eq!(racks.rack("b"), Some("R 2"));
        assert_eq!(racks.rack("a.example.org"), Some("R1"));
        assert_eq!(racks.rack("c"), None);
    }

    #[test]
    fn a_wrong_table_is_refused_with_its_line() {
        for (text, expected) in [
            ("a,R1\nb\n", "line 2: expected HOST,RACK, found \"b\""),
            ("a,\n", "line 1: expected HOST,RACK"),
            (
                "a,R1\na,R2\n",
                "line 2: \"a\" is in \"R1\" by an earlier line",
            ),
            ("# none\n", "no host"),
        ] {
            let error = Racks::parse(text).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text: String, host: String) {
            let _ = Racks::parse(&text).map(|racks| racks.rack(&host).map(str::to_owned));
            let _ = Racks::ByName.rack(&host);
        }
    }
}

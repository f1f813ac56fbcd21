//! A placement of a running target, as a user writes it: `current`, `near-cpus`, `cpus:0-3`,
//! `nodes:1+near-cpus`, `quota:1.5`.

use std::fmt;
use std::str::FromStr;

use model::{CpuSet, NodeSet, Topology};

use crate::{Destination, Dose, Error};

/// A placement of a running target.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TargetPlacement {
    /// The CPUs of its threads; `None` leaves them as they are.
    pub cpus: Option<Cpus>,
    /// The limit of its CPU time; `None` leaves it as it is.
    pub quota: Option<Limit>,
    /// Where its memory goes; `None` leaves it where it is.
    pub memory: Option<Destination>,
    /// The pages that go there: these alone, drawn again for each switch. A user cannot ask for it.
    pub dose: Option<Dose>,
}

/// CPUs, as a user names them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// These.
    These(CpuSet),
    /// All of these nodes.
    OfNodes(NodeSet),
}

/// A limit of CPU time, in CPUs: positive, and at most [`Limit::MAX`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit(f64);

impl Limit {
    /// The most CPUs that anybody limits a program to.
    pub const MAX: f64 = 65_536.0;

    /// The CPUs.
    pub fn cpus(self) -> f64 {
        self.0
    }
}

const CURRENT: &str = "current";

impl FromStr for TargetPlacement {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut placement = TargetPlacement::default();
        if text == CURRENT {
            return Ok(placement);
        }
        for part in text.split('+') {
            if let Some(cpus) = cpus(part).transpose()? {
                if placement.cpus.replace(cpus).is_some() {
                    return Err(format!("{text} names CPUs twice"));
                }
                continue;
            }
            if let Some(limit) = part.strip_prefix(QUOTA).map(quota).transpose()? {
                if placement.quota.replace(limit).is_some() {
                    return Err(format!("{text} names two quotas"));
                }
                continue;
            }
            let memory = part.parse::<Destination>().map_err(|error| {
                format!(
                    "{part:?} is no placement: current, cpus:0-3, nodes:0,1, quota:1.5, or a \
                     destination of memory: {error}; several of them are joined with +, as in \
                     nodes:1+near-cpus"
                )
            })?;
            if placement.memory.replace(memory).is_some() {
                return Err(format!("{text} names two destinations of memory"));
            }
        }
        Ok(placement)
    }
}

const QUOTA: &str = "quota:";

/// What follows `quota:`: CPUs, such as `1.5`.
fn quota(text: &str) -> Result<Limit, String> {
    let is_plain = text
        .bytes()
        .all(|byte| byte.is_ascii_digit() || byte == b'.');
    let cpus = text.parse::<f64>().ok().filter(|_| is_plain);
    let cpus = cpus.filter(|cpus| (0.01..=Limit::MAX).contains(cpus));
    let cpus = cpus.ok_or_else(|| {
        format!("{QUOTA}{text}: expected a number of CPUs, such as 1.5, of at least 0.01")
    })?;
    Ok(Limit(cpus))
}

/// `cpus:0-3` or `nodes:0,1`; `None` if the text begins otherwise.
fn cpus(text: &str) -> Option<Result<Cpus, String>> {
    let (word, list) = text.split_once(':')?;
    let none = || Err(format!("{text:?} names none"));
    match word {
        "cpus" => Some(match list.parse::<CpuSet>() {
            Ok(cpus) if cpus.is_empty() => none(),
            Ok(cpus) => Ok(Cpus::These(cpus)),
            Err(error) => Err(error.to_string()),
        }),
        "nodes" => Some(match list.parse::<NodeSet>() {
            Ok(nodes) if nodes.is_empty() => none(),
            Ok(nodes) => Ok(Cpus::OfNodes(nodes)),
            Err(error) => Err(error.to_string()),
        }),
        _ => None,
    }
}

impl fmt::Display for TargetPlacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(dose) = &self.dose {
            write!(
                f,
                "{}% of pages to ",
                f64::from(dose.parts_per_million) / 1e4
            )?;
        }
        let quota = self.quota.map(|limit| format!("{QUOTA}{}", limit.0));
        let cpus = self.cpus.as_ref().map(Cpus::to_string);
        let memory = self.memory.as_ref().map(Destination::to_string);
        let parts: Vec<String> = [cpus, quota, memory].into_iter().flatten().collect();
        match parts.is_empty() {
            true => f.write_str(CURRENT),
            false => f.write_str(&parts.join("+")),
        }
    }
}

impl fmt::Display for Cpus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Cpus::These(cpus) => write!(f, "cpus:{cpus}"),
            Cpus::OfNodes(nodes) => write!(f, "nodes:{nodes}"),
        }
    }
}

impl TargetPlacement {
    /// The CPUs on this machine; `None` where they stay as they are.
    ///
    /// # Errors
    /// When one of them does not exist.
    pub fn cpus_on(&self, topology: &Topology) -> Result<Option<CpuSet>, Error> {
        let impossible = |reason: String| Error::Impossible {
            placement: self.to_string(),
            reason,
        };
        let of_node = |node: &model::Node| node.cpus.iter().collect::<Vec<_>>();
        let online: CpuSet = topology.nodes.iter().flat_map(of_node).collect();
        let cpus = match &self.cpus {
            None => return Ok(None),
            Some(Cpus::These(cpus)) => cpus.clone(),
            Some(Cpus::OfNodes(nodes)) => {
                let has_cpus =
                    |node: &&model::Node| nodes.contains(node.id) && !node.cpus.is_empty();
                let found: Vec<_> = topology.nodes.iter().filter(has_cpus).collect();
                let found_ids: NodeSet = found.iter().map(|node| node.id).collect();
                let missing = nodes.difference(&found_ids);
                if !missing.is_empty() {
                    return Err(impossible(format!("there are no CPUs on node {missing}")));
                }
                found.into_iter().flat_map(of_node).collect()
            }
        };
        let missing = cpus.difference(&online);
        match missing.is_empty() {
            true => Ok(Some(cpus)),
            false => Err(impossible(format!(
                "there is no CPU {missing} online: this machine has {online}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {

    use super::TargetPlacement;

    #[test]
    fn every_form_reads_as_it_is_written() {
        for text in [
            "current",
            "interleave",
            "1",
            "spread=0:2,1:1",
            "near-cpus",
            "cpus:0-3",
            "nodes:0-1",
            "nodes:1+near-cpus",
            "quota:1.5",
            "cpus:0-3+quota:2+interleave",
        ] {
            assert_eq!(text.parse::<TargetPlacement>().unwrap().to_string(), text);
        }
        let turned: TargetPlacement = "interleave+cpus:2,1".parse().unwrap();
        assert_eq!(turned.to_string(), "cpus:1-2+interleave");
    }

    #[test]
    fn what_means_nothing_is_refused_by_name() {
        for (text, expected) in [
            ("", "is no placement"),
            ("cpus:", "names none"),
            ("cpus:0+nodes:1", "names CPUs twice"),
            ("interleave+spread", "two destinations"),
            ("current+spread", "\"current\" is no placement"),
            ("cpu:0", "\"cpu:0\" is no placement"),
            ("quota:1+quota:2", "two quotas"),
            ("quota:", "such as 1.5"),
            ("quota:0", "of at least 0.01"),
            ("quota:-1", "such as 1.5"),
            ("quota:nan", "such as 1.5"),
            ("quota:1e9", "such as 1.5"),
            ("quota:65537", "such as 1.5"),
        ] {
            let error = text.parse::<TargetPlacement>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[a-z:+=,0-9-]{0,30}|\\PC{0,20}", &|text| {
            let _ = text.parse::<TargetPlacement>();
        });
    }
}

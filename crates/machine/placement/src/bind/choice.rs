//! Lists of nodes and CPUs as numactl writes them: `0,2-3`, `all`, `!1`, `+0`, `same`.
//! What they mean depends on the machine and on the cpuset of the process.

use std::fmt;
use std::str::FromStr;

use model::{Id, IdSet, NodeId};

/// A list as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice<I: Id> {
    /// `!`: all but these.
    inverted: bool,
    /// `+`: positions within the ids that the process may use.
    relative: bool,
    what: What<I>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum What<I: Id> {
    All,
    Same,
    Ids(IdSet<I>),
    Device(Device),
}

/// A device that stands for its node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Device {
    /// How it is named.
    pub kind: DeviceName,
    /// Its name.
    pub name: String,
}

/// How a device is named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DeviceName {
    /// A network device.
    Netdev,
    /// A block device by its file in /dev.
    Block,
    /// The block device that holds a file.
    File,
    /// A PCI address.
    Pci,
}

impl DeviceName {
    /// Every kind and the word before its colon.
    pub const TABLE: [(DeviceName, &'static str); 4] = [
        (DeviceName::Netdev, "netdev"),
        (DeviceName::Block, "block"),
        (DeviceName::File, "file"),
        (DeviceName::Pci, "pci"),
    ];
}

/// Why a list is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ChoiceError(String);

impl ChoiceError {
    pub(super) fn new(text: impl Into<String>) -> Self {
        ChoiceError(text.into())
    }
}

/// What a list refers to.
#[derive(Debug, Clone)]
pub struct Universe<'a, I: Id> {
    /// What its members are called, such as `node with memory`.
    pub noun: &'static str,
    /// What may be named: every existing one.
    pub existing: &'a IdSet<I>,
    /// What `all` and `!` range over.
    pub all: IdSet<I>,
    /// What `+` indexes: the ids that the process may use.
    pub allowed: &'a IdSet<I>,
}

impl<I: Id> Choice<I> {
    /// Whether it is `same`, which refers to another list.
    pub fn is_same(&self) -> bool {
        self.what == What::Same
    }

    /// The device it names, if it does.
    pub fn device(&self) -> Option<&Device> {
        match &self.what {
            What::Device(device) => Some(device),
            _ => None,
        }
    }

    /// Returns the ids that the list stands for. `named` is the node of a device, or for `same` the
    /// other list.
    ///
    /// # Errors
    /// When an id does not exist, a position is past the end, or no id is left.
    pub fn resolve(
        &self,
        universe: &Universe<'_, I>,
        named: Option<&IdSet<I>>,
    ) -> Result<IdSet<I>, ChoiceError> {
        let chosen = match &self.what {
            What::All => universe.all.clone(),
            What::Same | What::Device(_) => named
                .cloned()
                .ok_or_else(|| ChoiceError::new(format!("{self} refers to nothing")))?,
            What::Ids(ids) if self.relative => at_positions(ids, universe)?,
            What::Ids(ids) => ids.clone(),
        };
        let unknown = chosen.difference(universe.existing);
        if !unknown.is_empty() {
            let (noun, existing) = (universe.noun, universe.existing);
            return Err(ChoiceError::new(format!(
                "{self}: there is no {noun} {unknown}: this machine has {existing}"
            )));
        }
        let chosen = match self.inverted {
            true => universe.all.difference(&chosen),
            false => chosen,
        };
        if chosen.is_empty() {
            let text = format!("{self} comes to no {} at all", universe.noun);
            return Err(ChoiceError::new(text));
        }
        Ok(chosen)
    }
}

fn at_positions<I: Id>(
    positions: &IdSet<I>,
    universe: &Universe<'_, I>,
) -> Result<IdSet<I>, ChoiceError> {
    let allowed = universe.allowed.as_slice();
    let at = |position: I| allowed.get(position.number() as usize).copied();
    positions
        .iter()
        .map(|position| {
            at(position).ok_or_else(|| {
                let (noun, count) = (universe.noun, allowed.len());
                let set = universe.allowed;
                ChoiceError::new(format!(
                    "+{position}: this process may use {count} ({set}), so the last {noun} is +{}",
                    count.saturating_sub(1)
                ))
            })
        })
        .collect()
}

impl Choice<NodeId> {
    /// Parses a list of nodes.
    ///
    /// # Errors
    /// When the text is not such a list.
    pub fn nodes(text: &str) -> Result<Self, ChoiceError> {
        text.parse()
    }
}

impl<I: Id> FromStr for Choice<I> {
    type Err = ChoiceError;

    fn from_str(text: &str) -> Result<Self, ChoiceError> {
        let (inverted, rest) = stripped(text, '!');
        let (relative, rest) = stripped(rest, '+');
        let what = match rest {
            "all" => What::All,
            "same" => What::Same,
            _ => match device(rest)? {
                Some(device) => What::Device(device),
                None => What::Ids(ids(rest)?),
            },
        };
        if relative && !matches!(what, What::Ids(_)) {
            return Err(ChoiceError::new(format!(
                "+ stands before numbers, not before {rest:?}"
            )));
        }
        Ok(Choice {
            inverted,
            relative,
            what,
        })
    }
}

fn stripped(text: &str, mark: char) -> (bool, &str) {
    match text.strip_prefix(mark) {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

fn ids<I: Id>(text: &str) -> Result<IdSet<I>, ChoiceError> {
    let ids: IdSet<I> = text.parse().map_err(|error| {
        ChoiceError::new(format!(
            "{error}; a list is such as 0,2-3, all, !1, +0 or same"
        ))
    })?;
    if ids.is_empty() {
        return Err(ChoiceError::new("the list is empty"));
    }
    Ok(ids)
}

fn device(text: &str) -> Result<Option<Device>, ChoiceError> {
    let Some((word, name)) = text.split_once(':') else {
        return Ok(None);
    };
    if word == "ip" {
        return Err(ChoiceError::new(
            "ip: is not supported; name the network device with netdev:",
        ));
    }
    let known = DeviceName::TABLE.iter().find(|(_, known)| *known == word);
    let Some((kind, _)) = known else {
        return Ok(None);
    };
    if name.is_empty() || name.contains(|byte: char| byte.is_control()) {
        return Err(ChoiceError::new(format!(
            "{word}: needs the name of a device"
        )));
    }
    Ok(Some(Device {
        kind: *kind,
        name: name.to_owned(),
    }))
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = DeviceName::TABLE
            .iter()
            .find(|(kind, _)| *kind == self.kind);
        let (_, word) = row.expect("the table has a row for every kind");
        write!(f, "{word}:{}", self.name)
    }
}

impl<I: Id> fmt::Display for Choice<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = |set: bool, mark: &'static str| if set { mark } else { "" };
        write!(
            f,
            "{}{}",
            mark(self.inverted, "!"),
            mark(self.relative, "+")
        )?;
        match &self.what {
            What::All => f.write_str("all"),
            What::Same => f.write_str("same"),
            What::Ids(ids) => write!(f, "{ids}"),
            What::Device(device) => write!(f, "{device}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{NodeId, NodeSet};

    use super::{Choice, Universe};

    /// Nodes 0, 2, 5 and 7 exist, 5 has no memory, and the cpuset allows 2 and 7.
    fn resolved(text: &str) -> Result<String, String> {
        let choice = Choice::nodes(text).map_err(|error| error.to_string())?;
        let set = |text: &str| -> NodeSet { text.parse().unwrap() };
        let (existing, allowed) = (set("0,2,5,7"), set("2,7"));
        let universe = Universe {
            noun: "node",
            existing: &existing,
            all: set("0,2,7"),
            allowed: &allowed,
        };
        let named = choice.device().map(|_| set("5"));
        let found = choice.resolve(&universe, named.as_ref());
        found
            .map(|nodes| nodes.to_string())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn every_form_of_numactl_is_understood() {
        for (text, expected) in [
            ("0", "0"),
            ("0,2", "0,2"),
            ("7,0-0", "0,7"),
            ("all", "0,2,7"),
            ("!0", "2,7"),
            ("!0,7", "2"),
            ("+0", "2"),
            ("+1", "7"),
            ("+0-1", "2,7"),
            ("!+0", "0,7"),
            ("netdev:eth0", "5"),
            ("pci:0000:3b:00.0", "5"),
            ("file:/a,b", "5"),
        ] {
            assert_eq!(resolved(text), Ok(expected.to_owned()), "{text}");
            let shown = Choice::nodes(text).unwrap().to_string();
            assert_eq!(Choice::nodes(&shown), Choice::nodes(text), "{text}");
        }
    }

    #[test]
    fn what_means_nothing_is_refused_by_name() {
        for (text, expected) in [
            ("", "the list is empty"),
            ("!", "the list is empty"),
            ("x", "a list is such as 0,2-3, all, !1, +0 or same"),
            ("1", "1: there is no node 1: this machine has 0,2,5,7"),
            ("0-3", "0-3: there is no node 1,3: this machine has 0,2,5,7"),
            ("!all", "!all comes to no node at all"),
            (
                "+2",
                "+2: this process may use 2 (2,7), so the last node is +1",
            ),
            ("+all", "+ stands before numbers"),
            ("!!0", "a list is such as"),
            ("netdev:", "netdev: needs the name of a device"),
            ("ip:::1", "name the network device with netdev:"),
            ("same", "same refers to nothing"),
        ] {
            let error = resolved(text).unwrap_err();
            assert!(error.contains(expected), "{text:?}: {error}");
        }
    }

    #[test]
    fn no_text_panics() {
        testing::any_text("[!+,0-9a-z:-]{0,20}|\\PC{0,20}", &|text| {
            let _ = resolved(text);
        });
    }

    #[test]
    fn what_is_resolved_exists() {
        testing::any_text("!?\\+?[0-9](-[0-9])?(,[0-9])?", &|text| {
            if let Ok(nodes) = resolved(text) {
                let nodes: NodeSet = nodes.parse().unwrap();
                let existing: NodeSet = "0,2,5,7".parse().unwrap();
                assert!(!nodes.is_empty() && nodes.is_subset(&existing));
                assert!(!nodes.contains(NodeId(5)) || text.contains('5'));
            }
        });
    }
}

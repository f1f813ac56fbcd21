//! The name of a processor group: a directory name that cannot be mistaken for a kernel file.

use std::fmt;
use std::str::FromStr;

/// The longest name: systemd units are named after it, and unit names end at 255.
const LENGTH_MAX: usize = 64;

/// The name of a processor group.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct GroupName(String);

impl GroupName {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GroupName {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_letter = |byte: u8| byte.is_ascii_alphanumeric();
        let is_allowed = |byte: u8| is_letter(byte) || b"_.-".contains(&byte);
        let begins = text.bytes().next().is_some_and(is_letter);
        if !begins || !text.bytes().all(is_allowed) || text.len() > LENGTH_MAX {
            return Err(format!(
                "expected at most {LENGTH_MAX} letters, digits, _, . and -, beginning with a \
                 letter or digit"
            ));
        }
        // Files of its parent directory: cgroup.procs, cpuset.cpus, cpu.max, …
        let is_file = |prefix: &&str| text.starts_with(prefix) && text.len() > prefix.len();
        let prefixes = [
            "cgroup.", "cpuset.", "cpu.", "cpuacct.", "memory.", "io.", "pids.", "hugetlb.",
            "misc.", "rdma.", "irq.",
        ];
        match prefixes.iter().find(|prefix| is_file(prefix)) {
            Some(prefix) => Err(format!(
                "names that begin with {prefix} are files of the kernel"
            )),
            None => Ok(GroupName(text.to_owned())),
        }
    }
}

impl fmt::Display for GroupName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {

    use super::GroupName;

    #[test]
    fn only_plain_names_are_names() {
        for text in ["oracle", "db-1", "a.b_c", "7", "cpuset"] {
            assert_eq!(text.parse::<GroupName>().unwrap().as_str(), text);
        }
        let long = "a".repeat(65);
        for text in [
            "",
            "-x",
            ".",
            "..",
            "a/b",
            "a b",
            "ü",
            "cpuset.cpus",
            "a\n",
            &long,
        ] {
            assert!(text.parse::<GroupName>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        testing::any_text("\\PC{0,70}", &|text| {
            if let Ok(name) = text.parse::<GroupName>() {
                assert!(!name.as_str().contains('/') && !name.as_str().starts_with('.'));
            }
        });
    }
}

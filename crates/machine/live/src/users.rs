//! Names of users, from `/etc/passwd` of the machine that is looked at. No other source is asked:
//! a directory service answers when it likes.

use std::collections::BTreeMap;

use linux::Root;

/// Names by id.
#[derive(Debug, Default)]
pub(crate) struct Users(BTreeMap<u32, String>);

impl Users {
    /// Reads them; none where there is no such file.
    pub(crate) fn read(root: &Root) -> Self {
        let file = root.read_lossy("etc/passwd");
        Users(file.map_or(BTreeMap::new(), |file| parse(file.text())))
    }

    /// The name of a user, or the id as text.
    pub(crate) fn name(&self, id: u32) -> String {
        self.0.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }
}

/// `postgres:x:102:104:PostgreSQL administrator:/var/lib/postgresql:/bin/bash` (passwd(5)); of
/// several names of one user, the first.
fn parse(text: &str) -> BTreeMap<u32, String> {
    let mut names = BTreeMap::new();
    for line in text.lines() {
        let mut fields = line.split(':');
        let (name, id) = (fields.next(), fields.nth(1));
        if let (Some(name), Some(id)) = (name, id.and_then(|id| id.parse().ok())) {
            names.entry(id).or_insert_with(|| name.to_owned());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_first_name_of_a_user_counts_and_unknown_ones_are_numbers() {
        let text = "root:x:0:0:root:/root:/bin/sh\ntoor:x:0:0::/:\n#\npostgres:x:102:104\n+::::\n";
        let users = Users(parse(text));
        let names = [0, 102, 7].map(|id| users.name(id));
        assert_eq!(names, ["root", "postgres", "7"]);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[a-z:0-9\n é+-]{0,120}") {
            parse(&text);
        }
    }
}

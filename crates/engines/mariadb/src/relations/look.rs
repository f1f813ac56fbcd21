//! Joins what the memory of a server, its files and the server itself say about its buffer pool.

use std::collections::{BTreeMap, BTreeSet};

use linux::Root;
use model::{RelationResidency, Relations, Residency, ServerKind, ServerView};
use residency::RelationSums;

use super::files::{self, Spaces};
use super::names::{self, Said, View};
use super::page::Part;
use super::pool::{self, Found};
use server::Error;

use crate::running_settings;

/// What pages belong to: a space, and a part of it.
type Key = (u32, Part);

/// Inspects the buffer pool of server `pid`. `residency` is that of its process.
///
/// # Errors
/// When its files or its memory may not be read.
pub(crate) fn relations(
    root: &Root,
    pid: u32,
    residency: &Residency,
    with_view: bool,
) -> Result<Relations, Error> {
    let mut spaces = files::spaces(&root.path(&format!("proc/{pid}/cwd")))?;
    let looked = pool::look(root, pid, spaces.page_bytes)?;
    // Asked afterwards: its answers come through its memory.
    let said = running_settings::connect(root, pid)
        .and_then(|mut client| names::ask(&mut client, with_view));
    let named = said.as_ref().ok();
    let of_server = named.iter().flat_map(|said| &said.spaces);
    of_server.for_each(|(id, space)| spaces.take(*id, space));
    let found = looked.found(&mut spaces);
    let pages = || found.iter().flat_map(|part| &part.pages);
    let keys: BTreeSet<Key> = pages().map(|(_, page)| (page.space, page.part)).collect();
    let indexes: BTreeMap<Key, usize> = keys.iter().copied().zip(0..).collect();
    let relations = keys.iter().map(|key| relation(*key, &spaces, named));
    let mut sums = RelationSums::new(relations.collect(), spaces.page_bytes);
    for part in &found {
        for (offset, page) in &part.pages {
            sums.add(indexes[&(page.space, page.part)], &part.nodes, *offset);
        }
    }
    let used = pages().count() as u64;
    Ok(Relations {
        server: Some(ServerKind::named("mariadb")),
        server_version: named.map(|said| said.version.clone()).unwrap_or_default(),
        page_bytes: found.first().and_then(|part| part.page_bytes),
        buffers: named.map_or(used, |said| said.pool_pages.max(used)),
        server_view: match &said {
            Ok(said) => compared(&found, said.view.as_ref()),
            Err(error) => ServerView::Unanswered {
                why: error.to_string(),
            },
        },
        ..sums.finish(&residency.memory_nodes)
    })
}

/// Returns what pages belong to, by name and without figures.
fn relation((space, part): Key, spaces: &Spaces, said: Option<&Said>) -> RelationResidency {
    let of = spaces.by_id.get(&space);
    let table = of.map_or_else(|| format!("space {space}"), |it| it.name.clone());
    let (name, kind) = match part {
        Part::Index(id) => match said.and_then(|said| said.indexes.get(&id)) {
            Some((_, true)) => (table, "table"),
            Some((index, false)) => (format!("{table}.{index}"), "index"),
            None => (format!("{table}.index {id}"), "index"),
        },
        Part::LargeValues => (table, "large values"),
        Part::Undo => (table, "undo logs"),
        Part::Space => (table, "space administration"),
    };
    RelationResidency {
        database: of.and_then(|it| it.database.clone()),
        name: Some(name),
        kind: Some(kind.to_owned()),
        filenode: space,
        ..RelationResidency::default()
    }
}

/// Compares the pages that were found with the server's own view of its pool.
fn compared(found: &[Found], view: Option<&View>) -> ServerView {
    let Some(view) = view else {
        return ServerView::NotAsked;
    };
    let pages = found.iter().flat_map(|part| &part.pages);
    let ours: BTreeSet<(u32, u32)> = pages.map(|(_, page)| (page.space, page.number)).collect();
    let both = ours.intersection(&view.pages).count() as u64;
    ServerView::PagesCompared {
        both,
        only_found: ours.len() as u64 - both,
        only_said: view.pages.len() as u64 - both,
        unnamed: view.unnamed,
    }
}

#[cfg(test)]
mod tests {
    use residency::RangePages;

    use super::*;
    use crate::relations::files::Space;
    use crate::relations::page::Page;

    #[test]
    fn what_pages_belong_to_has_the_names_of_file_and_server() {
        let space = Space {
            database: Some("shop".to_owned()),
            name: "orders".to_owned(),
            pages: 9,
        };
        let spaces = Spaces {
            by_id: [(5, space)].into(),
            page_bytes: 16 << 10,
        };
        let said = Said {
            indexes: [
                (7, ("PRIMARY".to_owned(), true)),
                (8, ("by_day".to_owned(), false)),
            ]
            .into(),
            ..Said::default()
        };
        let check = |part, said, expected: (&str, &str)| {
            let found = relation((5, part), &spaces, said);
            assert_eq!(found.database.as_deref(), Some("shop"));
            assert_eq!(
                (
                    found.name.as_deref().unwrap(),
                    found.kind.as_deref().unwrap()
                ),
                expected
            );
        };
        check(Part::Index(7), Some(&said), ("orders", "table"));
        check(Part::Index(8), Some(&said), ("orders.by_day", "index"));
        check(Part::Index(9), Some(&said), ("orders.index 9", "index"));
        check(Part::Index(7), None, ("orders.index 7", "index"));
        check(Part::LargeValues, None, ("orders", "large values"));
    }

    #[test]
    fn the_view_of_the_server_is_compared_page_by_page() {
        let page = |number| Page {
            space: 5,
            number,
            part: Part::Undo,
        };
        let found = [Found {
            page_bytes: None,
            nodes: RangePages::default(),
            pages: vec![(0, page(1)), (1, page(2)), (2, page(3))],
        }];
        let view = View {
            pages: [(5, 2), (5, 3), (5, 4), (6, 1)].into(),
            unnamed: 1,
        };
        let expected = ServerView::PagesCompared {
            both: 2,
            only_found: 1,
            only_said: 2,
            unnamed: 1,
        };
        assert_eq!(compared(&found, Some(&view)), expected);
        assert_eq!(compared(&found, None), ServerView::NotAsked);
    }
}

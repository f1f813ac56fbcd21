//! Tables and indexes of a PostgreSQL server by node, as text.

use model::{ByteSize, RelationResidency, Relations, ServerKind, ServerView, counted};

use crate::form::plain::{plain, plain_within};
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::residency::figures::{by_node_text, size};

/// Maximum number of relations in each table.
const SHOWN_MAX: usize = 10;
/// Maximum width of a name, in columns.
const NAME_COLUMNS: usize = 48;

/// Formats the relations.
pub(crate) fn relations_text(relations: &Relations, options: &TextOptions) -> String {
    let mut text = options.heading(&format!("Tables and indexes in the {}", cache(relations)));
    text.push_str(&options.paragraph("", &summary(relations), Style::Usual));
    text.push_str(&table(relations.relations.iter(), options));
    if let Some(more) = relations.relations.get(SHOWN_MAX..)
        && !more.is_empty()
    {
        let bytes: u64 = more.iter().map(|it| it.bytes).sum();
        let sentence = format!("and {} more with {} together", more.len(), ByteSize(bytes));
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    let uneven = most_uneven(&relations.relations);
    if !uneven.is_empty() {
        text.push('\n');
        text.push_str(&options.heading("The most uneven of them"));
        text.push_str(&table(uneven.into_iter(), options));
    }
    for database in &relations.databases_without_names {
        let sentence = format!(
            "database {} did not accept our connection, so its relations have no names",
            plain(database)
        );
        text.push_str(&options.paragraph("- ", &sentence, Style::Care));
    }
    let (sentence, style) = server_view(relations);
    text.push_str(&options.paragraph("", &sentence, style));
    text
}

/// What the database calls its cache.
fn cache(relations: &Relations) -> &'static str {
    let server = relations.server.unwrap_or(ServerKind::named("postgres"));
    server.cache()
}

fn summary(relations: &Relations) -> String {
    let pages = relations.page_bytes.map_or(String::new(), |bytes| {
        format!(", in pages of {}", ByteSize(bytes))
    });
    let Relations {
        buffers,
        buffers_used,
        block_bytes,
        ..
    } = *relations;
    let mut sentence = format!(
        "{buffers_used} of {buffers} buffers of {} hold a block ({}){pages}: {}",
        ByteSize(block_bytes),
        ByteSize(buffers_used.saturating_mul(block_bytes)),
        by_node_text(&relations.bytes_by_node)
    );
    if relations.bytes_without_node > 0 {
        sentence += &format!(", unknown {}", ByteSize(relations.bytes_without_node));
    }
    sentence
}

fn most_uneven(relations: &[RelationResidency]) -> Vec<&RelationResidency> {
    let mut uneven: Vec<&RelationResidency> = relations
        .iter()
        .filter(|it| it.bytes_beyond_even > 0)
        .collect();
    uneven.sort_by_key(|it| std::cmp::Reverse(it.bytes_beyond_even));
    uneven.truncate(SHOWN_MAX);
    uneven
}

fn table<'r>(
    relations: impl Iterator<Item = &'r RelationResidency>,
    options: &TextOptions,
) -> String {
    let mut table = Table::of("relation|what|>bytes|>beyond even|by node");
    for relation in relations.take(SHOWN_MAX) {
        let mut by_node = by_node_text(&relation.bytes_by_node);
        if relation.bytes_without_node > 0 {
            by_node += &format!(", unknown {}", size(relation.bytes_without_node));
        }
        let cells = [
            plain_within(&title(relation), NAME_COLUMNS),
            relation.kind.clone().unwrap_or_default(),
            size(relation.bytes),
            size(relation.bytes_beyond_even),
            by_node,
        ];
        table.row(cells);
    }
    table.text(options)
}

fn title(relation: &RelationResidency) -> String {
    let (database, name) = (relation.database.as_deref(), relation.name.as_deref());
    relation_name(database, name, relation.filenode)
}

/// Returns `shop: public.orders`; relations shared by all databases are in `*`.
pub(crate) fn relation_name(database: Option<&str>, name: Option<&str>, filenode: u32) -> String {
    let database = database.unwrap_or("*");
    match name {
        Some(name) => format!("{database}: {name}"),
        None => format!("{database}: file {filenode}"),
    }
}

fn server_view(relations: &Relations) -> (String, Style) {
    match &relations.server_view {
        ServerView::Absent => {
            let text = "the server has no view pg_buffercache_numa (PostgreSQL 18 and later)";
            (text.to_owned(), Style::Usual)
        }
        ServerView::WithoutLibnuma => {
            let text = "the server's view pg_buffercache_numa is unavailable: the server was \
                        built without libnuma, or the kernel does not support NUMA";
            (text.to_owned(), Style::Usual)
        }
        ServerView::NotAsked if relations.server.is_some() => {
            let text = "to compare with the server's view INNODB_BUFFER_PAGE, use --server-view; \
                        it blocks parts of the pool while it is read";
            (text.to_owned(), Style::Usual)
        }
        ServerView::NotAsked => {
            let text = "to compare with the server's view pg_buffercache_numa, use --server-view; \
                        it touches every page of the shared buffers";
            (text.to_owned(), Style::Usual)
        }
        ServerView::Compared {
            pages,
            differing,
            unknown,
        } => {
            let style = match differing {
                0 => Style::Usual,
                _ => Style::Care,
            };
            let text = format!(
                "pg_buffercache_numa and numalab both locate {} and differ in \
                 {differing}; only one of them locates {unknown} more",
                counted(pages, "page")
            );
            (text, style)
        }
        ServerView::PagesCompared {
            both,
            only_found,
            only_said,
            unnamed,
        } => {
            // The server does not name pages that were freed.
            let style = match (only_found <= unnamed, only_said) {
                (true, 0) => Style::Usual,
                _ => Style::Care,
            };
            let text = format!(
                "INNODB_BUFFER_PAGE and numalab both know {}; {only_found} more are only in \
                 memory ({unnamed} are in the view without a name), {only_said} only in the view",
                counted(both, "page")
            );
            (text, style)
        }
        ServerView::Unanswered { why } => {
            let text = format!(
                "the server did not say the names of indexes: {}",
                plain(why)
            );
            (text, Style::Care)
        }
    }
}

#[cfg(test)]
mod tests {
    use model::NodeId;

    use super::*;

    #[test]
    fn the_view_of_mariadb_is_told_in_its_own_words() {
        let check = |view: ServerView, expected: &str| {
            let relations = Relations {
                server: Some(ServerKind::named("mariadb")),
                server_view: view,
                ..Relations::default()
            };
            let options = TextOptions {
                width: 200,
                color: false,
            };
            let text = relations_text(&relations, &options);
            assert!(
                text.starts_with("Tables and indexes in the buffer pool pages"),
                "{text}"
            );
            assert!(text.contains(expected), "{text}");
        };
        check(
            ServerView::NotAsked,
            "INNODB_BUFFER_PAGE, use --server-view",
        );
        let compared = ServerView::PagesCompared {
            both: 9,
            only_found: 2,
            only_said: 0,
            unnamed: 2,
        };
        check(
            compared,
            "both know 9 pages; 2 more are only in memory (2 are in the view without a",
        );
        let why = "no\u{1b}[2J".to_owned();
        check(
            ServerView::Unanswered { why },
            "names of indexes: no\\u{1b}[2J",
        );
    }

    #[test]
    fn relations_are_shown_by_size_and_by_unevenness() {
        let relation = |name: &str, bytes: u64, beyond: u64| RelationResidency {
            database: Some("shop".to_owned()),
            name: Some(format!("public.{name}")),
            kind: Some("table".to_owned()),
            buffers: bytes / 8192,
            bytes,
            bytes_by_node: [(NodeId(0), bytes)].into(),
            bytes_beyond_even: beyond,
            ..RelationResidency::default()
        };
        let relations = Relations {
            block_bytes: 8192,
            page_bytes: Some(4096),
            buffers: 16384,
            buffers_used: 384,
            relations: vec![
                relation("orders", 2 << 20, 0),
                relation("items", 1 << 20, 1 << 19),
            ],
            databases_without_names: vec!["secret".to_owned()],
            ..Relations::default()
        };
        let options = TextOptions {
            width: 120,
            color: false,
        };
        let text = relations_text(&relations, &options);
        for words in [
            "384 of 16384 buffers of 8 KiB hold a block (3 MiB), in pages of 4 KiB:",
            "shop: public.orders",
            "512.0 KiB",
            "database secret did not accept our connection",
            "has no view pg_buffercache_numa (PostgreSQL",
        ] {
            assert!(text.contains(words), "{words}\n{text}");
        }
        let uneven = text.split("The most uneven").nth(1).unwrap();
        assert!(
            uneven.contains("items") && !uneven.contains("orders"),
            "{text}"
        );
    }
}

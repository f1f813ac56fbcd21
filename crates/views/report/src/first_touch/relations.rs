//! Tables and indexes by who touched their buffers first, as text.

use std::cmp::Reverse;

use model::{FirstTouch, TouchedRelation, counted};

use crate::form::plain::plain_within;
use crate::form::style::{Style, TextOptions};
use crate::form::table::Table;
use crate::residency::figures::{percent, size};
use crate::residency::relations::relation_name;

/// Relations in the table; the document has all.
const SHOWN_MAX: usize = 12;
/// Maximum width of a name, in columns.
const NAME_COLUMNS: usize = 30;

/// Formats them; nothing if nobody asked.
pub(crate) fn relations_text(touch: &FirstTouch, options: &TextOptions) -> String {
    let Some(relations) = &touch.relations else {
        return String::new();
    };
    let title = "Tables and indexes in the buffers now, by who touched these buffers first";
    let mut text = format!("\n{}", options.heading(title));
    let mut table = Table::of("relation|>size|mostly first touched by|>node|>share");
    for relation in relations.iter().take(SHOWN_MAX) {
        let (who, node, bytes) = most(relation);
        let name = relation_name(
            relation.database.as_deref(),
            relation.name.as_deref(),
            relation.filenode,
        );
        let cells = [
            plain_within(&name, NAME_COLUMNS),
            size(relation.bytes),
            plain_within(&who, NAME_COLUMNS),
            node,
            percent(bytes, relation.bytes),
        ];
        table.row(cells);
    }
    text.push_str(&table.text(options));
    let more = relations.len().saturating_sub(SHOWN_MAX);
    if more > 0 {
        let sentence = format!(
            "{} in the document only (--json)",
            counted(more, "smaller one")
        );
        text.push_str(&options.paragraph("", &sentence, Style::Usual));
    }
    text
}

/// Who touched the most of a relation: the class, the node, and how many bytes.
fn most(relation: &TouchedRelation) -> (String, String, u64) {
    let nobody = |who: &str, bytes| (who.to_owned(), "-".to_owned(), bytes);
    let mut all = vec![
        nobody("there before the look", relation.before_bytes),
        nobody("nobody that was seen", relation.unseen_bytes),
    ];
    let touched = relation.touched.iter().map(|touch| {
        let node = touch.cpu_node.map_or("?".to_owned(), |it| it.to_string());
        (touch.class.clone(), node, touch.bytes)
    });
    all.extend(touched);
    all.sort_by_key(|(_, _, bytes)| Reverse(*bytes));
    all.swap_remove(0)
}

#[cfg(test)]
mod tests {
    use model::{NodeId, RelationTouch};

    use super::*;

    #[test]
    fn every_relation_has_the_one_who_touched_most_of_it() {
        let relation = |touched, before_bytes| TouchedRelation {
            database: Some("shop".to_owned()),
            name: Some("public.orders".to_owned()),
            bytes: 100 << 20,
            touched: vec![RelationTouch {
                class: "autoprewarm worker".to_owned(),
                cpu_node: Some(NodeId(1)),
                bytes: touched,
            }],
            before_bytes,
            ..TouchedRelation::default()
        };
        let touch = FirstTouch {
            relations: Some(vec![relation(97 << 20, 3 << 20), relation(1, 99 << 20)]),
            ..FirstTouch::default()
        };
        let options = TextOptions {
            width: 100,
            color: false,
        };
        let text = relations_text(&touch, &options);
        let words: Vec<&str> = text.split_whitespace().collect();
        let text = words.join(" ");
        for expected in [
            "shop: public.orders 100.0 MiB autoprewarm worker 1 97.0 %",
            "shop: public.orders 100.0 MiB there before the look - 99.0 %",
        ] {
            assert!(text.contains(expected), "{expected}: {text}");
        }
        assert_eq!(relations_text(&FirstTouch::default(), &options), "");
    }
}

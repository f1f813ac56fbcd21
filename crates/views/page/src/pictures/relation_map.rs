//! The shared buffers of a server as squares coloured by node: a strip for each table and index.

use maud::{Markup, html};
use model::{NodeId, RelationResidency, Relations, counted};
use report::plain;

use super::squares::{
    COLUMNS, Drawing, NodeColours, Strip, draw, key, pieces, square_bytes, square_words,
};

/// Maximum number of relations that are drawn.
const RELATIONS_MAX: usize = 24;
/// Maximum number of characters of a name.
const NAME_MAX: usize = 48;

/// Returns the map of the largest relations; nothing where there are none.
/// `memory_nodes`: the nodes of the machine, so that each has the colour that it has elsewhere.
pub fn relation_map(relations: &Relations, memory_nodes: impl Iterator<Item = NodeId>) -> Markup {
    let all = relations.relations.iter();
    let present = |it: &&RelationResidency| {
        it.bytes_without_node > 0 || it.bytes_by_node.values().any(|bytes| *bytes > 0)
    };
    let all: Vec<&RelationResidency> = all.filter(present).collect();
    if all.is_empty() {
        return html! {};
    }
    let shown = &all[..all.len().min(RELATIONS_MAX)];
    let strip = |relation: &&RelationResidency| Strip {
        name: name(relation),
        pieces: pieces(&relation.bytes_by_node, relation.bytes_without_node),
    };
    let strips: Vec<Strip> = shown.iter().map(strip).collect();
    let found = strips.iter().flat_map(|strip| &strip.pieces);
    let colours = NodeColours::of(found.filter_map(|(node, _)| *node).chain(memory_nodes));
    let square = square_bytes(strips.iter());
    let drawing = Drawing {
        square,
        columns: COLUMNS,
        colours: &colours,
        id: "relations",
    };
    html! {
        figure {
            figcaption {
                "Shared buffers by table and index, the largest first: a square is "
                (square_words(square)) ", and every node has at least one. The order of blocks is "
                "not shown: each node's are drawn together."
            }
            div.scroll {
                (draw(&strips, drawing)
                    .markup("Shared buffers by table and index as squares by node", true))
            }
            (key(&strips, &colours))
            @if all.len() > shown.len() {
                p {
                    "Left out of the picture: "
                    (counted(all.len() - shown.len(), "smaller relation")) "."
                }
            }
        }
    }
}

/// The name of a relation: `table shop.public.orders`.
fn name(relation: &RelationResidency) -> String {
    let kind = relation.kind.as_deref().unwrap_or("relation");
    let unnamed = format!("file {}", relation.filenode);
    let name = relation.name.as_deref().unwrap_or(&unnamed);
    let whole = match &relation.database {
        Some(database) => format!("{kind} {name} ({database})"),
        None => format!("{kind} {name}"),
    };
    let shown: String = plain(&whole.chars().take(NAME_MAX).collect::<String>());
    let more = if whole.chars().count() > NAME_MAX {
        "…"
    } else {
        ""
    };
    let shown: String = shown.chars().take(2 * NAME_MAX).collect();
    format!("{shown}{more}")
}

#[cfg(test)]
mod tests {
    use super::relation_map;
    use model::{NodeId, RelationResidency, Relations};

    #[test]
    fn relations_are_named_with_their_database_or_by_their_file() {
        let relation = |name: Option<&str>, bytes| RelationResidency {
            database: name.map(|_| "shop".to_owned()),
            name: name.map(str::to_owned),
            kind: name.map(|_| "table".to_owned()),
            filenode: 16385,
            bytes_by_node: [(NodeId(3), bytes)].into(),
            ..RelationResidency::default()
        };
        let mut relations = Relations {
            relations: vec![
                relation(Some("public.<orders>"), 1 << 30),
                relation(None, 8192),
            ],
            ..Relations::default()
        };
        let text = relation_map(&relations, [].into_iter()).0;
        assert!(
            text.contains("table public.&lt;orders&gt; (shop)"),
            "{text}"
        );
        assert!(text.contains("relation file 16385") && text.contains("node 3: 1 GiB"));
        relations.relations = vec![relation(Some("empty"), 0)];
        assert_eq!(relation_map(&relations, [].into_iter()).0, "");
        relations.relations = vec![relation(Some("many"), 1); 30];
        let text = relation_map(&relations, [].into_iter()).0;
        assert!(text.contains("Left out of the picture: 6 smaller relations"));
    }
}

//! Where the pages of private memory come from.

use serde::{Deserialize, Serialize};

/// Where the pages of private memory come from. In order of preference for a measurement: larger
/// pages add fewer page walks to the memory accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PageKind {
    /// A huge-page pool (`MAP_HUGETLB`).
    Huge,
    /// Transparent huge pages (`MADV_HUGEPAGE`).
    Transparent,
    /// Pages of the kernel's base size.
    Small,
}

impl PageKind {
    /// Every kind with its name and its meaning.
    pub const TABLE: [(PageKind, &'static str, &'static str); 3] = [
        (PageKind::Huge, "huge", "huge pages from a pool"),
        (
            PageKind::Transparent,
            "transparent",
            "transparent huge pages",
        ),
        (PageKind::Small, "small", "small pages"),
    ];

    /// The name in documents and on the command line.
    pub fn name(self) -> &'static str {
        self.row().1
    }

    /// The meaning in words.
    pub fn meaning(self) -> &'static str {
        self.row().2
    }

    fn row(self) -> &'static (PageKind, &'static str, &'static str) {
        let row = Self::TABLE.iter().find(|(kind, _, _)| *kind == self);
        row.expect("the table has a row for every variant")
    }
}

#[cfg(test)]
mod tests {
    use super::PageKind;

    #[test]
    fn names_are_those_of_documents() {
        for (kind, name, meaning) in PageKind::TABLE {
            assert_eq!((kind.name(), kind.meaning()), (name, meaning));
            let json = serde_json::to_string(&kind).unwrap();
            assert_eq!(json, format!("\"{name}\""));
        }
    }
}

//! The cycle rule: within a crate, no file uses, directly or through others, a file that uses it. A
//! reader who starts at the lowest file never has to look ahead.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::{Path, PathBuf};

use super::finding::Finding;
use super::module_graph::ModuleGraph;
use super::project::SourceFile;

const RULE: &str = "cycle";

/// The crates of a project, file by file.
#[derive(Debug, Default)]
pub(super) struct Crates {
    /// By the directory of the sources.
    graphs: BTreeMap<PathBuf, ModuleGraph>,
}

impl Crates {
    /// Adds a file, unless it holds tests or belongs to no crate.
    pub(super) fn add(&mut self, file: &SourceFile, parsed: &syn::File) {
        let mut above = file.path.ancestors();
        let Some(src) = above.find(|it| it.ends_with("src")) else {
            return;
        };
        if let (false, Ok(below)) = (file.is_test(), file.path.strip_prefix(src)) {
            let graph = self.graphs.entry(src.to_path_buf()).or_default();
            graph.add(below, &file.path, parsed);
        }
    }

    /// Returns one finding for each group of files that use one another.
    pub(super) fn check(&self) -> Vec<Finding> {
        self.graphs.values().flat_map(check_crate).collect()
    }
}

fn check_crate(graph: &ModuleGraph) -> Vec<Finding> {
    let edges = graph.edges();
    let finding = |group: BTreeSet<PathBuf>| {
        let first = group.first()?;
        let circle = shortest(&edges, first)?;
        let line = edges[first.as_path()][circle[1]];
        let names: Vec<_> = circle.iter().map(|it| it.display().to_string()).collect();
        let message = format!(
            "{} files use one another: {}; move what both need to a file below them",
            group.len(),
            names.join(" -> ")
        );
        Some(Finding::new(first, line, RULE, message))
    };
    let groups = ModuleGraph::cycles(&edges);
    groups.into_iter().filter_map(finding).collect()
}

/// Returns the shortest path from a file back to itself, with the file at both ends.
fn shortest<'a>(
    edges: &BTreeMap<&'a Path, BTreeMap<&'a Path, usize>>,
    file: &'a Path,
) -> Option<Vec<&'a Path>> {
    let mut from: BTreeMap<&Path, &'a Path> = BTreeMap::new();
    let mut ahead = VecDeque::from([file]);
    while let Some(next) = ahead.pop_front() {
        for used in edges.get(next).into_iter().flat_map(BTreeMap::keys) {
            if *used == file {
                let mut way = vec![file, next];
                while way.last() != Some(&file) {
                    way.push(from[way.last()?]);
                }
                way.reverse();
                return Some(way);
            }
            if !from.contains_key(used) {
                from.insert(used, next);
                ahead.push_back(used);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(files: &[(&str, &str)]) -> Vec<String> {
        let mut crates = Crates::default();
        for (path, text) in files {
            let file = SourceFile {
                path: path.into(),
                text: (*text).to_owned(),
            };
            crates.add(&file, &syn::parse_file(text).unwrap());
        }
        crates.check().iter().map(Finding::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_with_its_way_and_the_line_that_begins_it() {
        let root = ("crates/a/src/lib.rs", "mod one; mod two; mod three;");
        let one = ("crates/a/src/one.rs", "\nuse crate::two::f;\npub fn g() {}");
        let two = ("crates/a/src/two.rs", "use crate::three::h; pub fn f() {}");
        let three = ("crates/a/src/three.rs", "use crate::one::g; pub fn h() {}");
        let found = findings(&[root, one, two, three]);
        let way = "crates/a/src/one.rs -> crates/a/src/two.rs -> crates/a/src/three.rs -> \
                   crates/a/src/one.rs";
        let expected = format!("crates/a/src/one.rs:2: cycle: 3 files use one another: {way};");
        assert!(
            found.len() == 1 && found[0].starts_with(&expected),
            "{found:?}"
        );
        let apart = ("crates/b/src/three.rs", three.1);
        assert_eq!(findings(&[root, one, two, apart]), [""; 0]);
    }

    #[test]
    fn a_folder_and_its_files_may_be_a_circle_too() {
        let root = ("x/src/lib.rs", "mod a;");
        let folder = ("x/src/a/mod.rs", "mod b; pub struct A; fn f() { b::g() }");
        let inside = ("x/src/a/b.rs", "use super::A; pub fn g() {}");
        assert_eq!(findings(&[root, folder, inside]).len(), 1);
        let re_exports = ("x/src/a/mod.rs", "mod b; pub struct A; pub use b::g;");
        assert_eq!(findings(&[root, re_exports, inside]), [""; 0]);
    }
}

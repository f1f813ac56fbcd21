//! Which files of a crate use what other files define. A re-export leads to the file that defines
//! the item; uses in tests do not count.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::file_imports::FileImports;

/// A module by its path in the crate: `["residency", "tally"]`; the path of the crate's root is
/// empty.
type ModulePath = Vec<String>;

/// The files of one crate.
#[derive(Debug, Default)]
pub(super) struct ModuleGraph {
    modules: BTreeMap<ModulePath, (PathBuf, FileImports)>,
}

impl ModuleGraph {
    /// Adds a file of the crate; `below_src` is its path below `src`.
    pub(super) fn add(&mut self, below_src: &Path, file: &Path, parsed: &syn::File) {
        let imports = FileImports::of(parsed);
        let module = module_of(below_src);
        self.modules.insert(module, (file.to_path_buf(), imports));
    }

    /// Returns the files that each file uses, each with the first line that uses it.
    pub(super) fn edges(&self) -> BTreeMap<&Path, BTreeMap<&Path, usize>> {
        let mut edges: BTreeMap<&Path, BTreeMap<&Path, usize>> = BTreeMap::new();
        for (module, (file, imports)) in &self.modules {
            let used = edges.entry(file).or_default();
            for (path, line) in imports.paths() {
                let Some(origin) = self.origin(module, path, 0) else {
                    continue;
                };
                let origin = self.modules[&origin].0.as_path();
                if origin != file {
                    let first = used.entry(origin).or_insert(*line);
                    *first = (*first).min(*line);
                }
            }
        }
        edges
    }

    /// Returns the module that defines what `path` means in `module`; `None` for an item of another
    /// crate.
    fn origin(&self, module: &ModulePath, path: &[String], depth: u8) -> Option<ModulePath> {
        // Circular imports do not compile, and chains of imports are short.
        if depth > 16 {
            return None;
        }
        let (first, rest) = path.split_first()?;
        let parent = || Some(module[..module.len().checked_sub(1)?].to_vec());
        match first.as_str() {
            "crate" => self.descend(Vec::new(), rest, depth),
            "self" => self.descend(module.clone(), rest, depth),
            "super" => match rest.first().is_some_and(|next| next == "super") {
                true => self.origin(&parent()?, rest, depth),
                false => self.descend(parent()?, rest, depth),
            },
            _ => {
                let imports = &self.modules.get(module)?.1;
                let child = [module.as_slice(), std::slice::from_ref(first)].concat();
                if self.modules.contains_key(&child) {
                    return self.descend(child, rest, depth);
                }
                let import = imports.import_named(first)?;
                let whole = [import, rest].concat();
                self.origin(module, &whole, depth + 1)
            }
        }
    }

    /// Descends from a module as long as names are modules, and through re-exports.
    fn descend(&self, module: ModulePath, names: &[String], depth: u8) -> Option<ModulePath> {
        let Some((name, rest)) = names.split_first() else {
            return self.modules.contains_key(&module).then_some(module);
        };
        let child = [module.as_slice(), std::slice::from_ref(name)].concat();
        if self.modules.contains_key(&child) {
            return self.descend(child, rest, depth);
        }
        let imports = &self.modules.get(&module)?.1;
        if imports.defines(name) {
            return Some(module);
        }
        if let Some(import) = imports.import_named(name) {
            let whole = [import, rest].concat();
            return self.origin(&module, &whole, depth + 1);
        }
        let globs = imports.globs().iter();
        let mut defining = globs.filter_map(|glob| self.origin(&module, glob, depth + 1));
        let found = defining.find(|it| self.modules[it].1.defines(name));
        // Defined by a macro of the module itself.
        found.or(Some(module))
    }

    /// Returns the groups of files that use one another in a cycle.
    pub(super) fn cycles(
        edges: &BTreeMap<&Path, BTreeMap<&Path, usize>>,
    ) -> Vec<BTreeSet<PathBuf>> {
        let reached: BTreeMap<&Path, BTreeSet<&Path>> = edges
            .keys()
            .map(|file| (*file, reach(edges, file)))
            .collect();
        let mut groups: Vec<BTreeSet<PathBuf>> = Vec::new();
        for (file, reachable) in &reached {
            let is_known = groups.iter().any(|group| group.contains(*file));
            if is_known || !reachable.contains(file) {
                continue;
            }
            let leads_back = |it: &&&Path| reached.get(*it).is_some_and(|on| on.contains(file));
            let back = reachable.iter().filter(leads_back);
            groups.push(back.map(|it| it.to_path_buf()).collect());
        }
        groups
    }
}

/// Returns every file that `file` uses, directly or through others.
fn reach<'a>(
    edges: &BTreeMap<&'a Path, BTreeMap<&'a Path, usize>>,
    file: &Path,
) -> BTreeSet<&'a Path> {
    let mut found = BTreeSet::new();
    let mut ahead = vec![file];
    while let Some(next) = ahead.pop() {
        for used in edges.get(next).into_iter().flat_map(BTreeMap::keys) {
            if found.insert(*used) {
                ahead.push(*used);
            }
        }
    }
    found
}

/// Returns the module of a file: `residency/tally.rs` is `residency::tally`, `residency/mod.rs` is
/// `residency`.
fn module_of(below_src: &Path) -> ModulePath {
    let without_extension = below_src.with_extension("");
    let parts = without_extension.iter().map(|part| part.to_string_lossy());
    let mut module: ModulePath = parts.map(|part| part.into_owned()).collect();
    let is_folder = |name: &String| ["mod", "lib", "main"].contains(&name.as_str());
    if module.last().is_some_and(is_folder) {
        module.pop();
    }
    module
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns each file and what it uses, `a.rs: b.rs`.
    fn edges(files: &[(&str, &str)]) -> Vec<String> {
        let mut graph = ModuleGraph::default();
        for (path, text) in files {
            let parsed = syn::parse_file(text).unwrap();
            graph.add(Path::new(path), Path::new(path), &parsed);
        }
        let shown = |file: &Path, used: &Path| format!("{}: {}", file.display(), used.display());
        let edges = graph.edges();
        let each = edges
            .iter()
            .flat_map(|(file, used)| used.keys().map(|used| shown(file, used)));
        each.collect()
    }

    #[test]
    fn a_re_export_leads_to_the_file_that_defines_the_item() {
        let lib = "mod a; mod b; mod c; pub use b::B; pub use c::*;";
        let a = "use crate::{B, C};";
        let files = [
            ("lib.rs", lib),
            ("a.rs", a),
            ("b.rs", "pub struct B;"),
            ("c.rs", "pub struct C;"),
        ];
        assert_eq!(edges(&files), ["a.rs: b.rs", "a.rs: c.rs"]);
    }

    #[test]
    fn every_way_to_name_an_item_counts() {
        let there = ("b/mod.rs", "pub mod c; pub fn f() {}");
        let inside = ("b/c.rs", "pub const X: u8 = 0;");
        let root = ("lib.rs", "mod a; mod b;");
        for (text, expected) in [
            ("use crate::b::f;", "a.rs: b/mod.rs"),
            ("use super::b::c;", "a.rs: b/c.rs"),
            ("use super::b; fn g() { b::f() }", "a.rs: b/mod.rs"),
            (
                "use crate::b as other; fn g() { other::c::X; }",
                "a.rs: b/c.rs",
            ),
            ("fn g() { crate::b::f() }", "a.rs: b/mod.rs"),
            (
                "fn g() { println!(\"{}\", crate::b::c::X); }",
                "a.rs: b/c.rs",
            ),
            ("type T = [u8; crate::b::c::X as usize];", "a.rs: b/c.rs"),
        ] {
            let found = edges(&[root, ("a.rs", text), there, inside]);
            assert!(found.contains(&expected.to_owned()), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_only_tests_use_does_not_count_nor_do_other_crates() {
        let text = "use std::fmt; #[cfg(test)] mod tests { use crate::b::f; } \
                    #[cfg(test)] use crate::b::f; #[cfg(test)] fn g() { crate::b::f() }";
        let files = [
            ("lib.rs", "mod a; mod b;"),
            ("a.rs", text),
            ("b.rs", "pub fn f() {}"),
        ];
        assert_eq!(edges(&files), [""; 0]);
    }

    #[test]
    fn files_in_a_circle_are_one_group() {
        let pairs = [
            ("a", "b"),
            ("b", "c"),
            ("c", "a"),
            ("c", "d"),
            ("e", "a"),
            ("f", "g"),
        ];
        let mut edges: BTreeMap<&Path, BTreeMap<&Path, usize>> = BTreeMap::new();
        for (from, to) in pairs.iter().chain(&[("g", "f")]) {
            edges
                .entry(Path::new(from))
                .or_default()
                .insert(Path::new(to), 1);
        }
        let groups = ModuleGraph::cycles(&edges);
        let group = |names: &[&str]| names.iter().map(PathBuf::from).collect::<BTreeSet<_>>();
        assert_eq!(groups, [group(&["a", "b", "c"]), group(&["f", "g"])]);
    }
}

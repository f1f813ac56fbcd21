//! What a Rust file imports, names and defines, apart from its tests.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{Attribute, ImplItemFn, Item, ItemUse, Macro, UseTree};

/// What one file imports, names and defines.
#[derive(Debug, Default)]
pub(super) struct FileImports {
    /// Paths that are imported or named, with their lines.
    paths: Vec<(Vec<String>, usize)>,
    /// Imported items by their names in this file.
    imports: BTreeMap<String, Vec<String>>,
    /// Modules from which everything is imported.
    globs: Vec<Vec<String>>,
    /// Names of the top-level items.
    defined: BTreeSet<String>,
}

impl FileImports {
    /// Reads a file.
    pub(super) fn of(parsed: &syn::File) -> Self {
        let mut imports = FileImports {
            defined: parsed.items.iter().filter_map(name_of).collect(),
            ..FileImports::default()
        };
        imports.visit_file(parsed);
        imports
    }

    /// Returns every path that the file imports or names, except what it only re-exports with `pub
    /// use`.
    pub(super) fn paths(&self) -> &[(Vec<String>, usize)] {
        &self.paths
    }

    /// Returns the path of what is imported under a name.
    pub(super) fn import_named(&self, name: &str) -> Option<&[String]> {
        self.imports.get(name).map(Vec::as_slice)
    }

    /// Returns the modules from which everything is imported.
    pub(super) fn globs(&self) -> &[Vec<String>] {
        &self.globs
    }

    /// Whether a top-level item has this name.
    pub(super) fn defines(&self, name: &str) -> bool {
        self.defined.contains(name)
    }

    fn add_tree(&mut self, tree: &UseTree, before: &[String], is_handed_on: bool) {
        let with = |name: &syn::Ident| [before, &[name.to_string()]].concat();
        let (name, path) = match tree {
            UseTree::Path(path) => {
                return self.add_tree(&path.tree, &with(&path.ident), is_handed_on);
            }
            UseTree::Group(group) => {
                let items = group.items.iter();
                return items.for_each(|tree| self.add_tree(tree, before, is_handed_on));
            }
            UseTree::Glob(_) => {
                self.globs.push(before.to_vec());
                if !is_handed_on {
                    self.paths.push((before.to_vec(), tree.span().start().line));
                }
                return;
            }
            UseTree::Name(it) if it.ident == "self" => (before.last().cloned(), before.to_vec()),
            UseTree::Name(it) => (Some(it.ident.to_string()), with(&it.ident)),
            UseTree::Rename(it) if it.ident == "self" => {
                (Some(it.rename.to_string()), before.to_vec())
            }
            UseTree::Rename(it) => (Some(it.rename.to_string()), with(&it.ident)),
        };
        if !is_handed_on {
            self.paths.push((path.clone(), tree.span().start().line));
        }
        // A child with the same name would lead to itself.
        if let Some(name) = name.filter(|name| path.as_slice() != std::slice::from_ref(name)) {
            self.imports.insert(name, path);
        }
    }

    /// Adds the paths in the arguments of a macro, whose syntax is not known.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path: Vec<String> = Vec::new();
        let mut colons = 0;
        let mut line = 0;
        for token in tokens {
            match &token {
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.add_path(std::mem::take(&mut path), line);
                        line = name.span().start().line;
                    }
                    path.push(name.to_string());
                    colons = 0;
                    continue;
                }
                TokenTree::Punct(it) if it.as_char() == ':' && !path.is_empty() => {
                    colons += 1;
                    continue;
                }
                TokenTree::Group(group) => self.add_tokens(group.stream()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
            self.add_path(std::mem::take(&mut path), line);
            colons = 0;
        }
        self.add_path(path, line);
    }

    /// Adds a path. A single name is defined in this file or imported.
    fn add_path(&mut self, path: Vec<String>, line: usize) {
        if path.len() > 1 {
            self.paths.push((path, line));
        }
    }
}

impl<'ast> Visit<'ast> for FileImports {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_of_tests(attributes(item)) {
            syn::visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast ImplItemFn) {
        if !is_of_tests(&function.attrs) {
            syn::visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        let is_handed_on = !matches!(item.vis, syn::Visibility::Inherited);
        self.add_tree(&item.tree, &[], is_handed_on);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names = path.segments.iter().map(|it| it.ident.to_string());
        self.add_path(names.collect(), path.span().start().line);
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, found: &'ast Macro) {
        self.add_tokens(found.tokens.clone());
        syn::visit::visit_macro(self, found);
    }
}

/// Whether one of the attributes is `#[cfg(test)]`.
pub(super) fn is_of_tests(attributes: &[Attribute]) -> bool {
    let is_test = |it: &Attribute| {
        let condition = it.parse_args::<syn::Path>();
        it.path().is_ident("cfg") && condition.is_ok_and(|condition| condition.is_ident("test"))
    };
    attributes.iter().any(is_test)
}

/// Returns the attributes of an item.
pub(super) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}

fn name_of(item: &Item) -> Option<String> {
    let name = match item {
        Item::Const(it) => &it.ident,
        Item::Enum(it) => &it.ident,
        Item::Fn(it) => &it.sig.ident,
        Item::Macro(it) => it.ident.as_ref()?,
        Item::Static(it) => &it.ident,
        Item::Struct(it) => &it.ident,
        Item::Trait(it) => &it.ident,
        Item::Type(it) => &it.ident,
        Item::Union(it) => &it.ident,
        _ => return None,
    };
    Some(name.to_string())
}

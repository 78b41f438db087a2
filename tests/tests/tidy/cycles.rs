//! No two files of a crate need each other, directly or by way of others.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::visit::{self, Visit};
use syn::{Attribute, Item, UseTree};

use super::workspace::{Source, sources};

/// The folders whose files are ordered: one that needs another is not needed by it.
const ORDERED: &[&str] = &[
    "actors/src",
    "engine/app/src/plan",
    "engine/core/src/agent",
    "engine/core/src/request",
    "engine/core/src/tools",
    "engine/exec/src",
    "engine/peers/src",
    "engine/providers/src",
    "engine/tools/src",
    "isolation/src/view",
];

#[test]
fn no_two_files_need_each_other() {
    let all = sources();
    let mut found = Vec::new();
    for folder in ORDERED {
        let files = all.iter().filter(|source| source.path.starts_with(folder));
        let files: Vec<_> = files.filter(|source| !source.is_test()).collect();
        assert!(!files.is_empty(), "{folder} is ordered and not there");
        found.extend(Files::read(&all, folder).cycles());
    }
    assert_eq!(found, Vec::<Vec<String>>::new());
}

/// The path of a module inside its crate; empty for the root.
type Module = Vec<String>;

/// The files of one crate, and what each declares and uses.
struct Files<'a> {
    modules: BTreeMap<Module, File<'a>>,
    folder: PathBuf,
}

/// A file, which is parsed when it is needed.
struct File<'a> {
    source: &'a Source,
    parsed: OnceCell<Parsed>,
}

/// What stands in one file.
#[derive(Default)]
struct Parsed {
    /// Names that it takes from elsewhere, with the path they are taken from: what others may
    /// take from it in turn.
    taken: BTreeMap<String, Vec<String>>,
    /// Every path that it uses, as written.
    used: BTreeSet<Vec<String>>,
}

impl File<'_> {
    fn parsed(&self) -> &Parsed {
        self.parsed.get_or_init(|| {
            let mut parsed = Parsed::default();
            parsed.visit_file(&syn::parse_file(&self.source.text).expect("a source is Rust"));
            parsed
        })
    }
}

impl<'a> Files<'a> {
    fn read(all: &'a [Source], folder: &str) -> Self {
        let root = Path::new(folder.split_inclusive("src").next().unwrap_or(folder));
        let mut modules = BTreeMap::new();
        for source in all.iter().filter(|source| source.path.starts_with(root)) {
            if source.is_test() {
                continue;
            }
            let relative =
                source.path.strip_prefix(root).expect("it lies below").with_extension("");
            let mut module: Module =
                relative.iter().map(|part| part.to_string_lossy().into_owned()).collect();
            if module.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
                module.pop();
            }
            modules.insert(module, File { source, parsed: OnceCell::new() });
        }
        Self { modules, folder: PathBuf::from(folder) }
    }

    /// Returns each group of files that need each other.
    fn cycles(&self) -> Vec<Vec<String>> {
        let mut needs: BTreeMap<&Module, BTreeSet<&Module>> = BTreeMap::new();
        for (module, file) in self.modules.iter().filter(|(_, file)| self.is_ordered(file)) {
            let used = file.parsed().used.iter().filter_map(|path| self.resolve(module, path, 0));
            let others = used.filter(|other| *other != module);
            let others = others.filter(|other| self.is_ordered(&self.modules[*other]));
            needs.insert(module, others.collect());
        }
        let mut groups: BTreeSet<Vec<String>> = BTreeSet::new();
        let reached: BTreeMap<_, _> =
            needs.keys().map(|module| (*module, reach(module, &needs))).collect();
        for (module, far) in &reached {
            let mut group: Vec<_> = far
                .iter()
                .filter(|other| reached.get(*other).is_some_and(|back| back.contains(module)))
                .map(|other| self.modules[*other].source.path.display().to_string())
                .collect();
            if far.contains(module) {
                group.sort();
                groups.insert(group);
            }
        }
        groups.into_iter().collect()
    }

    /// Lists of modules need everything that they list, which is allowed.
    fn is_ordered(&self, file: &File<'_>) -> bool {
        let path = &file.source.path;
        let list = path.ends_with("mod.rs") || path.ends_with("lib.rs");
        !list && path.starts_with(&self.folder)
    }

    /// Returns the module that defines what `path` names, seen from `from`.
    fn resolve(&self, from: &Module, path: &[String], depth: usize) -> Option<&Module> {
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Module::new(),
            "self" => from.clone(),
            "super" => {
                let mut at = from.clone();
                at.pop();
                while rest.first().is_some_and(|next| next == "super") {
                    at.pop();
                    rest = &rest[1..];
                }
                at
            }
            _ => {
                let mut child = from.clone();
                child.push(first.clone());
                if !self.modules.contains_key(&child) {
                    return None; // another crate, or something of this very file
                }
                child
            }
        };
        while let Some((next, after)) = rest.split_first() {
            let mut child = at.clone();
            child.push(next.clone());
            if !self.modules.contains_key(&child) {
                break;
            }
            (at, rest) = (child, after);
        }
        let (key, file) = self.modules.get_key_value(&at)?;
        // A name that is passed on belongs to where it comes from.
        match rest.first().and_then(|name| file.parsed().taken.get(name)) {
            Some(taken) if depth < 8 => self.resolve(key, taken, depth + 1).or(Some(key)),
            _ => Some(key),
        }
    }
}

/// Returns everything that `from` needs, directly or by way of others.
fn reach<'a>(
    from: &'a Module,
    needs: &BTreeMap<&'a Module, BTreeSet<&'a Module>>,
) -> BTreeSet<&'a Module> {
    let (mut reached, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(module) = open.pop() {
        for next in needs.get(module).into_iter().flatten() {
            if reached.insert(*next) {
                open.push(next);
            }
        }
    }
    reached
}

impl Parsed {
    fn take(&mut self, prefix: &[String], tree: &UseTree) {
        let with = |name: &dyn ToString| [prefix, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.take(&with(&path.ident), &path.tree),
            UseTree::Name(name) if name.ident == "self" => {
                self.used.insert(prefix.to_vec());
            }
            UseTree::Name(name) => self.name(&name.ident.to_string(), with(&name.ident)),
            UseTree::Rename(rename) => self.name(&rename.rename.to_string(), with(&rename.ident)),
            UseTree::Glob(_) => {
                self.used.insert(prefix.to_vec());
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.take(prefix, tree);
                }
            }
        }
    }

    fn name(&mut self, name: &str, path: Vec<String>) {
        self.taken.insert(name.to_owned(), path.clone());
        self.used.insert(path);
    }
}

impl<'ast> Visit<'ast> for Parsed {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            _ => return visit::visit_item(self, item),
        };
        if !attributes.iter().any(is_for_tests) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.take(&[], &item.tree);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.segments.len() > 1 {
            let names = path.segments.iter().map(|segment| segment.ident.to_string());
            self.used.insert(names.collect());
        }
        visit::visit_path(self, path);
    }
}

/// Returns whether an attribute says that an item is compiled for tests only.
fn is_for_tests(attribute: &Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Ident>().is_ok_and(|word| word == "test")
}

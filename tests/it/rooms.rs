//! The order of the rooms: a module uses only rooms below it, and no folder has an import cycle.

mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::generated::{is_overwriting, replace_in_page};
use imports::{Import, Tree};

/// Every room, from the top down.
const ROOMS: [&str; 21] = [
    "main", "lib", "fuzzing", "commands", "view", "cli", "doctor", "hook", "archive", "launch", "change", "save",
    "scan", "agent", "fleet", "format", "system", "config", "error", "session", "verbs",
];

/// Returns the faults in the imports of a tree, each with its lines.
fn faults(rooms: &[&str], tree: &Tree) -> Vec<String> {
    let rank: BTreeMap<&str, usize> = rooms.iter().enumerate().map(|(at, room)| (*room, at)).collect();
    let mut faults: BTreeSet<String> = BTreeSet::new();
    for module in tree.modules.iter().filter(|module| !rank.contains_key(module[0].as_str())) {
        faults.insert(format!("src/{} is not on the list of rooms", module[0]));
    }
    for import in &tree.imports {
        let (Some(from), Some(to)) = (rank.get(&*import.from[0]), rank.get(&*import.to[0])) else { continue };
        if to < from {
            let is_back = |back: &&Import| back.from[0] == import.to[0] && back.to[0] == import.from[0];
            let back = tree.imports.iter().find(is_back);
            let back = back.map_or(String::new(), |back| format!("\n    and the other way: {}", back.line));
            faults.insert(format!("{} uses {} above it:\n    {}{back}", import.from[0], import.to[0], import.line));
        }
    }
    faults.into_iter().chain(tree.cycles()).collect()
}

/// The parsed source of this program.
static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::parse(&sources("src")));

/// Reads the source files of a package, by their paths below its `src`.
fn sources(src: &str) -> BTreeMap<PathBuf, String> {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join(src);
    let entries = walkdir::WalkDir::new(&src).into_iter().map(|entry| entry.expect("an entry").into_path());
    let files = entries.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("a source file");
        (path.strip_prefix(&src).expect("a path below").to_owned(), text)
    };
    files.map(read).collect()
}

/// Parses files that are given by their paths below `src` and their text.
fn planted(files: &[(&str, &str)]) -> Tree {
    Tree::parse(&files.iter().map(|(file, text)| (PathBuf::from(file), (*text).to_owned())).collect())
}

/// Returns the imports of a tree as `from → to`, in the order of the files and lines.
fn arrows(tree: &Tree) -> Vec<String> {
    tree.imports.iter().map(|import| format!("{} → {}", import.from.join("::"), import.to.join("::"))).collect()
}

#[test]
fn each_room_imports_only_lower_rooms() {
    let faults = faults(&ROOMS, &TREE);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let used: BTreeSet<&str> = TREE.modules.iter().map(|module| module[0].as_str()).collect();
    assert_eq!(used, ROOMS.into(), "every room of the list is there");
}

#[test]
fn room_table_matches_imports_of_source() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/architecture.md");
    let page = std::fs::read_to_string(path).expect("a page");
    for room in ROOMS {
        let used: BTreeSet<&str> =
            TREE.imports.iter().filter(|import| import.from[0] == room).map(|import| import.to[0].as_str()).collect();
        let used: Vec<&str> = ROOMS.into_iter().filter(|other| *other != room && used.contains(other)).collect();
        let start = format!("| `{room}` | ");
        let row = page.lines().find(|line| line.starts_with(&start)).unwrap_or_else(|| panic!("no row of {room}"));
        let purpose = row[start.len()..].split(" |").next().unwrap_or_default();
        let expected = format!("{start}{purpose} | {} |", used.join(", "));
        if is_overwriting() {
            replace_in_page("docs/architecture.md", row, &expected);
        } else {
            assert_eq!(row, expected, "run SNAPSHOTS=overwrite cargo test --test it rooms");
        }
    }
}

#[test]
fn changes_crate_has_no_cycle_and_no_agent() {
    let files = sources("crates/changes/src");
    assert_eq!(Tree::parse(&files).cycles(), [""; 0]);
    let agents = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/agent")).expect("a directory");
    let agents = agents.map(|entry| entry.expect("an entry")).filter(|entry| entry.path().is_dir());
    let agents: Vec<String> = agents.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    assert!(agents.len() > 20, "{agents:?}");
    let mut named = Vec::new();
    for (file, text) in &files {
        let words = text.split(|c: char| !c.is_alphanumeric()).map(str::to_lowercase);
        // A keyword.
        let words = words.filter(|word| word != "continue" && agents.contains(word));
        named.extend(words.map(|word| format!("{}: {word}", file.display())));
    }
    assert!(named.is_empty(), "{named:?}");
}

#[test]
fn check_reports_upward_import_and_unknown_room() {
    let tree = planted(&[
        ("top.rs", "use crate::low::a::X;"),
        ("low/mod.rs", "mod a;"),
        ("low/a.rs", "use crate::top::Y; // crate::elsewhere::no"),
        ("elsewhere.rs", ""),
    ]);
    let found = faults(&["top", "low"], &tree);
    let text = found.join("\n");
    assert!(text.contains("src/elsewhere is not on the list of rooms"), "{text}");
    assert!(text.contains("low uses top above it:\n    src/low/a.rs:1: use crate::top::Y;"), "{text}");
    assert!(text.contains("and the other way: src/top.rs:1: use crate::low::a::X;"), "{text}");
    assert_eq!(found.len(), 3, "{text}");
}

#[test]
fn check_finds_import_cycle_through_super() {
    let tree = planted(&[
        ("low/mod.rs", "mod a;\nmod b;"),
        ("low/a.rs", "use super::b::Y;"),
        ("low/b.rs", "fn y() {\n    super::a::x();\n}"),
    ]);
    let expected = "src/low: import cycle of a, b:\n    a → b: src/low/a.rs:1: use super::b::Y;\n    \
                    b → a: src/low/b.rs:2: super::a::x();";
    assert_eq!(tree.cycles(), [expected]);
}

#[test]
fn check_finds_import_cycle_through_group() {
    let tree = planted(&[
        ("low/mod.rs", "mod a;\nmod b;\nmod c;"),
        ("low/a.rs", "use crate::{\n    low::{\n        b::{self, Y},\n    },\n    other::Z,\n};"),
        ("low/b.rs", "use super::{c::Z as W};"),
        ("low/c.rs", "use crate::low::a::*;"),
        ("other.rs", ""),
    ]);
    let cycles = tree.cycles();
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    assert!(cycles[0].starts_with("src/low: import cycle of a, b, c:\n"), "{cycles:?}");
    assert!(cycles[0].contains("a → b: src/low/a.rs:3: b::{self, Y},\n"), "{cycles:?}");
    assert!(arrows(&tree).contains(&"low::a → other".to_owned()), "{:?}", arrows(&tree));
}

#[test]
fn check_finds_import_cycle_through_reexport() {
    let tree = planted(&[
        ("low/mod.rs", "mod a;\nmod b;\npub(crate) use b::{Y as Z};\nuse self::a::x;"),
        ("low/a.rs", "use super::Z;"),
        ("low/b.rs", "fn y() { super::x(); }"),
    ]);
    assert_eq!(tree.cycles().len(), 1, "{:?}", tree.imports);
}

#[test]
fn check_finds_import_cycle_between_folders() {
    let tree = planted(&[
        ("low/mod.rs", "mod a;\nmod b;"),
        ("low/a/mod.rs", "mod deep;"),
        ("low/a/deep.rs", "use super::super::b::Y;"),
        ("low/b/mod.rs", "mod deep;\nmod other;"),
        ("low/b/deep.rs", "vec![crate::low::a::deep::x()]"),
        ("low/b/other.rs", "use super::deep::Z;"),
    ]);
    let cycles = tree.cycles();
    assert_eq!(cycles.len(), 1, "{cycles:?}");
    assert!(cycles[0].starts_with("src/low: import cycle of a, b:"), "{cycles:?}");
}

#[test]
fn module_and_parent_may_import_each_other() {
    let tree = planted(&[
        ("low/mod.rs", "mod a;\nmod b;\nuse a::X;\nuse b::Y;\npub(crate) struct Z;"),
        ("low/a.rs", "use super::Z;\nuse crate::low::b::Y;"),
        ("low/b.rs", "use crate::low::{self, Z};\npub(in crate::low) struct Y;"),
    ]);
    assert_eq!(tree.cycles(), [""; 0]);
    assert!(arrows(&tree).contains(&"low::a → low".to_owned()), "{:?}", arrows(&tree));
}

#[test]
fn check_ignores_strings_comments_and_unit_tests() {
    let tree = planted(&[
        ("a.rs", "// crate::b::x()\n/* use crate::b; /* */ use crate::b; */\nfn a<'b>(_: &'b str) -> char { '\"' }"),
        (
            "b.rs",
            "const T: &str = \"\\\" crate::a::x()\";\nconst R: &[u8] = br#\"\" crate::a::x()\"#;\nconst Q: char = '\\'';",
        ),
        ("c.rs", "#[cfg(test)]\nmod tests {\n    use crate::a::X;\n    mod inner { use crate::b; }\n}"),
        ("c/tests.rs", "use crate::b::Y;"),
        ("d.rs", "mod tests {}\nfn d() -> impl Iterator + use<> { 'x'; crate::a::x::<super::c::T>(); Self::b::c() }"),
    ]);
    assert_eq!(arrows(&tree), ["d → a", "d → c"]);
}

#[test]
fn check_parses_inline_modules_like_files() {
    let tree = planted(&[
        ("low/mod.rs", "mod b;\nmod inline {\n    fn x() { super::b::y(); }\n}\nuse b::Z;"),
        ("low/b.rs", "use super::inline;"),
    ]);
    assert_eq!(arrows(&tree), ["low::b → low::inline", "low::inline → low::b", "low → low::b"]);
    assert_eq!(tree.cycles().len(), 1);
}

#[test]
fn library_exports_only_public_functions() {
    let root = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("a file");
    let offered: Vec<&str> = root.lines().filter(|line| line.starts_with("pub ")).collect();
    let expected = [
        "pub mod fuzzing;",
        "pub use agent::jido::signature as jido_signature;",
        "pub use error::Exit;",
        "pub use save::write::session_info::{read_working_dir, write_session_info};",
        "pub use system::env::{CapturedStreams, Surroundings};",
        "pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {",
        "pub fn run_in(surroundings: &Surroundings) -> Exit {",
    ];
    assert_eq!(offered, expected);
    // Samples and benches sign sessions, and tests run the program; that is not a public interface.
    assert!(root.contains("#[doc(hidden)]\npub use system::env"));
    assert!(root.contains("#[doc(hidden)]\npub fn run_in"));
    assert!(root.contains("#[doc(hidden)]\npub use agent::jido::signature"));
    assert!(root.contains("#[cfg(fuzzing)]\n#[doc(hidden)]\npub mod fuzzing"));
}

#[test]
fn architecture_page_names_every_agent_method() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let read = |file: &str| std::fs::read_to_string(root.join(file)).expect("a file");
    let page = read("docs/architecture.md");
    // The rows of a trait; with an empty name, all rows.
    let rows = |name: &str| {
        let start = format!("| `{name}");
        page.lines().filter(|line| line.starts_with(&start)).collect::<Vec<_>>().join("\n")
    };
    let mut missing = Vec::new();
    let mut look = |file: &str, item: &str, member: &str, rows: &str| {
        let text = read(file);
        let body = text.split_once(item).and_then(|(_, rest)| rest.split_once("\n}\n")).expect(item).0;
        let names = body.lines().filter_map(|line| line.strip_prefix(member)?.split(['(', '<', ':']).next());
        missing.extend(names.filter(|name| !rows.contains(&format!("`{name}`"))).map(|name| format!("{file}: {name}")));
    };
    for (file, name) in [
        ("mod", "Agent"),
        ("reading", "Reading"),
        ("resuming", "Resuming"),
        ("moving", "Moving"),
        ("housekeeping", "Housekeeping"),
    ] {
        look(
            &format!("src/agent/{file}.rs"),
            &format!("pub(crate) trait {name}:"),
            "    fn ",
            &rows(&format!("{name}`")),
        );
    }
    look("src/agent/about.rs", "pub(crate) struct About {", "    pub ", &rows(""));
    assert!(missing.is_empty(), "docs/architecture.md, \"The `Agent` trait\", lacks {missing:#?}");
}

//! The order of the rooms: a module uses what stands below it, never what stands above, and never in a circle.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use crate::generated::assert_part;

/// Every room, from the top down.
const ROOMS: [&str; 20] = [
    "main", "lib", "fuzzing", "commands", "view", "cli", "doctor", "hook", "archive", "launch", "change", "save",
    "scan", "agent", "fleet", "format", "system", "config", "error", "session",
];

/// One line that uses another module.
#[derive(Clone, Debug)]
struct Import {
    /// The module that uses, from its room on.
    from: Vec<String>,
    /// What is used, from its room on.
    to: Vec<String>,
    /// The file and the line, for people.
    line: String,
}

/// Returns the module of a file of `src`, from its room on.
fn module(file: &Path) -> Vec<String> {
    let mut parts: Vec<String> = file.with_extension("").iter().map(|part| part.to_string_lossy().into()).collect();
    if parts.last().is_some_and(|name| name == "mod") {
        parts.pop();
    }
    parts
}

/// Returns the paths that a line of code names with `crate::` or, in the root, by the name of a room.
fn used(line: &str, is_root: bool) -> Vec<Vec<String>> {
    let code = line.split("//").next().unwrap_or_default();
    let starts = code.match_indices("crate::").map(|(at, prefix)| at + prefix.len());
    let mut paths: Vec<Vec<String>> = starts
        .map(|start| {
            let path = code[start..].split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':')).next();
            path.unwrap_or_default().split("::").filter(|part| !part.is_empty()).map(str::to_owned).collect()
        })
        .collect();
    if is_root {
        let words = code.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == ':'));
        let paths_in = words.filter(|word| word.contains("::"));
        paths.extend(paths_in.map(|path| path.split("::").map(str::to_owned).collect::<Vec<_>>()));
        paths.retain(|path| ROOMS.contains(&path[0].as_str()));
    }
    paths
}

/// Reads the imports of every file below a directory such as `src`; unit tests may use what they like.
fn imports(src: &Path) -> Vec<Import> {
    let mut imports = Vec::new();
    for entry in walkdir::WalkDir::new(src).sort_by_file_name() {
        let entry = entry.expect("an entry");
        if entry.path().extension().is_none_or(|extension| extension != "rs") || entry.file_name() == "tests.rs" {
            continue;
        }
        let file: PathBuf = entry.path().strip_prefix(src).expect("a path below").into();
        let from = module(&file);
        let is_root = from == ["lib"] || from == ["main"];
        let text = std::fs::read_to_string(entry.path()).expect("a source file");
        let lines = text.lines().enumerate();
        for (number, line) in lines.take_while(|(_, line)| *line != "mod tests {" && *line != "pub(crate) mod tests {")
        {
            for to in used(line, is_root) {
                let line = format!("src/{}:{}: {}", file.display(), number + 1, line.trim());
                imports.push(Import { from: from.clone(), to, line });
            }
        }
    }
    imports
}

/// Returns what is wrong with imports, each with the lines that show it.
fn faults(rooms: &[&str], modules: &[Vec<String>], imports: &[Import]) -> Vec<String> {
    let rank: BTreeMap<&str, usize> = rooms.iter().enumerate().map(|(at, room)| (*room, at)).collect();
    let mut faults: BTreeSet<String> = BTreeSet::new();
    for module in modules.iter().filter(|module| !rank.contains_key(module[0].as_str())) {
        faults.insert(format!("src/{} is not on the list of rooms", module[0]));
    }
    for import in imports {
        let (Some(from), Some(to)) = (rank.get(&*import.from[0]), rank.get(&*import.to[0])) else { continue };
        if to < from {
            let back = imports.iter().find(|back| back.from[0] == import.to[0] && back.to[0] == import.from[0]);
            let back = back.map_or(String::new(), |back| format!("\n    and the other way: {}", back.line));
            faults.insert(format!("{} uses {} above it:\n    {}{back}", import.from[0], import.to[0], import.line));
        }
    }
    faults.extend(circles(modules, imports));
    faults.into_iter().collect()
}

/// Returns every pair of lines by which two modules of one room use each other, also by way of others.
///
/// A module and the one that holds it belong together, so they may.
fn circles(modules: &[Vec<String>], imports: &[Import]) -> Vec<String> {
    let is_module = |path: &[String]| modules.iter().any(|module| module == path || module.starts_with(path));
    let mut lines: BTreeMap<(String, String), &str> = BTreeMap::new();
    let mut uses: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for import in imports.iter().filter(|import| import.from[0] == import.to[0] && import.from.len() > 1) {
        let Some(child) = import.to.get(..2).filter(|path| is_module(path)) else { continue };
        let (from, to) = (import.from[..2].join("::"), child.join("::"));
        if from != to {
            lines.entry((from.clone(), to.clone())).or_insert(&import.line);
            uses.entry(from).or_default().insert(to);
        }
    }
    let reaches = |from: &str, to: &str| {
        let (mut seen, mut open) = (BTreeSet::new(), vec![from.to_owned()]);
        while let Some(at) = open.pop() {
            for next in uses.get(&at).into_iter().flatten() {
                if next == to {
                    return true;
                }
                if seen.insert(next.clone()) {
                    open.push(next.clone());
                }
            }
        }
        false
    };
    let back = |from: &String, to: &String| {
        lines.iter().find(|((at, next), _)| at == to && (next == from || reaches(next, from)))
    };
    let pairs = lines.iter().filter_map(|((from, to), line)| Some((from, to, line, back(from, to)?)));
    pairs
        .map(|(from, to, line, (_, back))| format!("{from} and {to} use each other:\n    {line}\n    {back}"))
        .collect()
}

fn tree() -> (Vec<Vec<String>>, Vec<Import>) {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let entries = walkdir::WalkDir::new(&src).sort_by_file_name().into_iter().map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.path().extension().is_some_and(|extension| extension == "rs"));
    let modules = files.map(|entry| module(entry.path().strip_prefix(&src).expect("a path below"))).collect();
    (modules, imports(&src))
}

#[test]
fn each_room_uses_only_those_below_it() {
    let (modules, imports) = tree();
    let faults = faults(&ROOMS, &modules, &imports);
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    let used: BTreeSet<&str> = modules.iter().map(|module| module[0].as_str()).collect();
    assert_eq!(used, ROOMS.into(), "every room of the list is there");
}

#[test]
fn the_figure_of_the_rooms_is_that_of_the_source() {
    let (_, imports) = tree();
    let mut figure = String::from("```text\n");
    for room in ROOMS {
        let used: BTreeSet<&str> =
            imports.iter().filter(|import| import.from[0] == room).map(|import| import.to[0].as_str()).collect();
        let used: Vec<&str> = ROOMS.into_iter().filter(|other| *other != room && used.contains(other)).collect();
        writeln!(figure, "{}", format!("{room:<8} → {}", used.join(", ")).trim_end_matches([' ', '→'])).expect("text");
    }
    figure.push_str("```");
    assert_part("docs/architecture.md", "rooms", &figure);
}

#[test]
fn an_import_that_runs_up_a_circle_and_an_unknown_room_are_named_with_their_lines() {
    let path = |path: &str| path.split("::").map(str::to_owned).collect::<Vec<_>>();
    let import =
        |from: &str, to: &str| Import { from: path(from), to: path(to), line: format!("use crate::{to}; in {from}") };
    let modules = ["top", "low::a", "low::b", "low::c", "elsewhere"].map(path);
    let found = faults(
        &["top", "low"],
        &modules,
        &[
            import("top", "low::a::X"),
            import("low::a", "top::Y"),
            import("low::a", "low::b"),
            import("low::b", "low::c::Z"),
            import("low::c", "low::a"),
        ],
    );
    let text = found.join("\n");
    assert!(text.contains("src/elsewhere is not on the list of rooms"), "{text}");
    assert!(text.contains("low uses top above it:\n    use crate::top::Y; in low::a\n"), "{text}");
    assert!(text.contains("and the other way: use crate::low::a::X; in top"), "{text}");
    assert!(text.contains("low::a and low::b use each other:\n    use crate::low::b; in low::a\n"), "{text}");
    assert_eq!(used("let x = crate::low::a(&crate::top::B); // crate::no", false), [path("low::a"), path("top::B")]);
    assert_eq!(found.len(), 5, "{text}");
}

#[test]
fn the_library_offers_what_other_programs_need_and_nothing_more() {
    let root = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("src/lib.rs")).expect("a file");
    let offered: Vec<&str> = root.lines().filter(|line| line.starts_with("pub ")).collect();
    let expected = [
        "pub mod fuzzing;",
        "pub use agent::jido::signature as jido_signature;",
        "pub use error::Exit;",
        "pub use save::write::session_info::{read_working_dir, write_session_info};",
        "pub fn run(args: impl IntoIterator<Item = OsString>) -> Exit {",
    ];
    assert_eq!(offered, expected);
    // Samples and benches sign sessions; that is no part of what is promised.
    assert!(root.contains("#[doc(hidden)]\npub use agent::jido::signature"));
    assert!(root.contains("#[cfg(fuzzing)]\n#[doc(hidden)]\npub mod fuzzing"));
}

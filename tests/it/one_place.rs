//! Copies of one session that differ: the command of an agent opens one of them, and a search reads all.

use std::path::{Path, PathBuf};

use crate::agent_rules;
use crate::agents::NEEDS_SQLITE;
use crate::contract::search::Search;
use crate::facts::copy_tree;
use crate::fixtures::{Claude, Codex, Gemini, Pi, age_tree, claude_slug, id, put};
use crate::ordinary;
use crate::world::World;

/// Returns the message of a refused resume of a copy.
fn refusal(world: &World, copy: &str) -> String {
    for format in [&["--print"][..], &[]] {
        world.rejoin([&["resume", &id(1), "--copy", copy], format].concat()).code(7);
    }
    let plan = world.rejoin(["resume", &id(1), "--copy", copy, "--json"]).code(7).plan();
    assert_eq!(plan.refusals[0].code, "other-copy");
    world.rejoin(["resume", &id(1), "--copy", copy]).code(7).stderr()
}

#[test]
fn gemini_opens_the_copy_updated_last() {
    let world = World::with_agents();
    world.install("gemini", "");
    let app = world.dir("app");
    let real = Gemini::session(id(1)).in_dir(&app).turn("configure the proxy", "done").turn("and the cache", "done");
    let real = world.add(real);
    let stub = Gemini::session(id(1)).in_dir(&app).at("2026-02-01T11:00:00Z").turn("give a summary", "of nothing");
    let stub = world.add(stub);
    let answer = world.rejoin(["resume", &id(1)]).code(6).stderr();
    assert!(answer.contains(&format!("resume one with `rejoin resume gemini:{} --copy 1`", id(1))), "{answer}");
    let opened = world.rejoin(["resume", &id(1), "--copy", "1", "--json"]).plan();
    assert_eq!((opened.path.as_deref(), opened.refusals.len()), (stub.to_str(), 0));
    let why = refusal(&world, "2");
    assert!(why.contains("gemini would continue copy 1 of session"), "{why}");
    let way = format!("rejoin delete gemini:{} --copy 1", id(1));
    assert!(why.contains(&format!("`{way}`")) && why.contains(&format!("`rejoin resume gemini:{}`", id(1))), "{why}");
    world.rejoin(way.split(' ').skip(1).chain(["--yes"])).code(0);
    assert_eq!(world.rejoin(["resume", &id(1), "--json"]).plan().path.as_deref(), real.to_str());
}

#[test]
fn resume_refuses_copies_that_agent_confuses() {
    let world = World::with_agents();
    let app = world.dir("app");
    let one = world.add(Pi::session(id(1)).in_dir(&app).turn("wren", "ok").turn("more", "ok"));
    world.add(Pi::session(id(1)).in_dir(&app).at("2026-02-02T10:00:00Z").turn("finch", "ok"));
    let answer = world.rejoin(["resume", &id(1)]).code(6).stderr();
    assert!(answer.contains(&format!("then resume the other with `rejoin resume pi:{}`", id(1))), "{answer}");
    for (copy, other) in [("1", "2"), ("2", "1")] {
        let why = refusal(&world, copy);
        assert!(why.contains(&format!("pi may continue copy {other} of session {}, not copy {copy}", id(1))), "{why}");
    }
    // A copy of the same messages is not another conversation.
    let text = std::fs::read_to_string(&one).expect("a file");
    world.rejoin(["delete", &id(1), "--copy", "1", "--yes"]).code(0);
    let left = world.rejoin(["show", &id(1), "--path"]).code(0).stdout();
    let left = Path::new(left.trim());
    let text = if left == one { text } else { std::fs::read_to_string(left).expect("a file") };
    put(&left.with_file_name(format!("2026-02-03T10-00-00-000Z_{}.jsonl", id(1))), text);
    age_tree(&world.home());
    world.rejoin(["resume", &id(1), "--print"]).code(0);
}

#[test]
fn codex_opens_the_listed_copy_alone() {
    let world = World::with_agents();
    let app = world.dir("app");
    let folders = ["sessions/2026/02/01", "sessions/2027/01/05"];
    let [one, _] =
        folders.map(|folder| world.add(Codex::session(id(1)).in_dir(&app).turn(folder, "1").in_folder(folder)));
    for copy in ["1", "2"] {
        assert!(refusal(&world, copy).contains("codex may continue"), "nothing names one of them");
    }
    #[cfg(feature = "sqlite")]
    {
        world.add(crate::fixtures::CodexThreads::naming(&id(1), &one));
        let opened = world.rejoin(["resume", &id(1), "--json"]).plan();
        assert_eq!((opened.path.as_deref(), opened.refusals.len()), (one.to_str(), 0));
        assert!(refusal(&world, "2").contains("codex would continue copy 1"));
    }
    assert!(one.exists());
}

/// Returns names for a second file of a session: the name, then that of its folder, with another digit that is not in
/// the id.
fn other_paths(path: &Path, id: &str) -> Vec<PathBuf> {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy().into_owned()).collect();
    let at_of = |name: &str| {
        let own = name.find(id).map_or(name.len()..name.len(), |at| at..at + id.len());
        name.char_indices().rev().find(|(at, digit)| !own.contains(at) && digit.is_ascii_digit()).map(|(at, _)| at)
    };
    let changed = (1..=2).filter_map(|back| {
        let mut parts = parts.clone();
        let name = parts.iter_mut().nth_back(back - 1)?;
        let at = at_of(name)?;
        let digit = if name[at..].starts_with('4') { "5" } else { "4" };
        name.replace_range(at..=at, digit);
        Some(parts.iter().collect())
    });
    changed.collect()
}

#[test]
fn no_command_resumes_two_copies_of_every_agent() {
    let mut tested = Vec::new();
    agent_rules::hold("each copy has its own command, or none", agent_rules::GUIDE, |agent| {
        let world = World::with_agents();
        if (!cfg!(feature = "sqlite") && NEEDS_SQLITE.contains(&agent)) || !ordinary::write(agent, &world) {
            return;
        }
        let session = || world.rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions().remove(0);
        let first = session();
        let (path, asked) = (PathBuf::from(&first.copies[0].path), first.first_prompt.expect("a prompt"));
        for copy in other_paths(&path, &first.id) {
            if path.is_dir() {
                copy_tree(&path, &copy);
            } else {
                put(&copy, std::fs::read(&path).expect("a file"));
            }
            for entry in walkdir::WalkDir::new(&copy).into_iter().filter_map(Result::ok) {
                let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
                if text.contains(&asked) {
                    std::fs::write(entry.path(), text.replace(&asked, &"x".repeat(asked.len()))).expect("a file");
                }
            }
            age_tree(&world.home());
            if session().copies.len() == 2 {
                tested.push(agent);
                let commands = ["1", "2"].map(|copy| {
                    let answer = world.rejoin(["resume", &first.id, "--agent", agent, "--copy", copy, "--print"]);
                    (answer.exit() == Some(0)).then(|| answer.stdout())
                });
                assert!(commands[0] != commands[1] || commands[0].is_none(), "{commands:?}");
            }
            let _ = std::fs::remove_file(&copy);
            let _ = std::fs::remove_dir_all(&copy);
        }
    });
    assert!(!agent_rules::are_all_chosen() || tested.len() > 4, "only {tested:?} have two copies");
}

#[test]
fn search_finds_text_of_other_copy() {
    let world = World::new();
    let (app, other) = (world.dir("app"), world.dir("other"));
    let talk = Claude::session(id(1)).in_dir(&app).turn("common start", "common reply");
    world.add(talk.clone().turn("only here: heron", "yes"));
    world.add(talk.in_dir(&other).turn("only there: bittern", "yes").turn("more", "done"));
    world.add(Claude::session(id(2)).in_dir(&app).turn("nothing", "of both"));
    world.rejoin(["archive", &id(1)]).code(0);
    let mut numbers = Vec::new();
    for options in [&[][..], &["--exact"], &["--archived"], &["--archived", "--exact"]] {
        for word in ["heron", "bittern"] {
            let args = [&["search", word], options].concat();
            let answer: Search = world.rejoin([&args[..], &["--json"]].concat()).code(0).json();
            let [found] = answer.sessions.as_slice() else { panic!("{args:?}: {:?}", answer.sessions) };
            assert!(found.messages.len() == 1 && found.messages[0].excerpt.contains(word), "{args:?}: {found:?}");
            let rows = world.rejoin(&args).code(0).stdout();
            assert!(rows.contains(&id(1)) && rows.contains(word), "{args:?}: {rows}");
            let table = world.on_terminal(120, &args).code(0).stdout();
            let mark = found.copy.map(|number| format!("(copy {number})"));
            assert_eq!(mark.is_some(), table.contains("(copy "), "{args:?}: {table}");
            if let Some(number) = found.copy.filter(|_| !options.contains(&"--archived")) {
                assert!(table.contains(&mark.unwrap_or_default()), "{table}");
                let show = ["show", &id(1), "--copy", &number.to_string(), "--transcript"];
                assert!(world.rejoin(show).code(0).stdout().contains(word), "the mark names the copy");
                numbers.push(number);
            }
        }
        // A text of both copies is a match of the first one alone.
        let answer: Search = world.rejoin([&["search", "common", "--json"], options].concat()).code(0).json();
        assert_eq!((answer.sessions[0].copy, answer.sessions[0].matches), (None, 2), "{options:?}");
    }
    assert_eq!(numbers, [2, 2], "each search finds one of the words in the other copy");
}

#[test]
#[cfg_attr(not(target_os = "linux"), ignore = "strace shows the reads")]
fn search_reads_no_equal_copy() {
    if !crate::survival::has_strace() {
        return;
    }
    let (world, text) = (World::new(), "word ".repeat(1000));
    let (app, other) = (world.dir("app"), world.dir("other"));
    let talk = Claude::session(id(1)).in_dir(&app);
    let talk = (0..100).fold(talk, |session, _| session.turn(&text, &text));
    let one = world.add(talk.clone());
    let two = world.add(talk.filed_under(claude_slug(&other)));
    for args in [&["search", "heron", "--json"][..], &["search", "heron", "--exact", "--json"]] {
        let read = [&one, &two].map(|path| crate::stats::passes(&world, args, path));
        assert_eq!(read.iter().sum::<u64>(), 1, "{args:?}");
    }
}

//! Mistakes on the command line: each answer says what to type instead, in the terms of rejoin.

use serde_json::Value;

use crate::contract::changes::Cleanup;
use crate::contract::{Error, ResumePlan};
use crate::fixtures::{Claude, id};
use crate::world::World;

#[test]
fn invalid_value_error_says_what_to_type() {
    let world = World::new();
    for (line, expected) in [
        ("list -n three", "invalid value 'three' for '--limit <N>': use a whole number, such as 20"),
        ("search x --context 1.5", "invalid value '1.5' for '--context <N>': use a whole number, such as 20"),
        ("search x --matches many", "invalid value 'many' for '--matches <N>': use a whole number, such as 20"),
        ("show x --messages few", "invalid value 'few' for '--messages <N>': use a whole number, such as 20"),
        ("show x --branch 0", "invalid value '0' for '--branch <N>': use a number from 1"),
        ("rewind x --to last", "invalid value 'last' for '--to <N>': use a whole number, such as 20"),
        ("cleanup --keep-last 99999999999999999999", ": the number is too large"),
        ("list --max-messages x", "invalid value 'x' for '--max-messages <N>': use a whole number, such as 20"),
        (
            "archive --expiring x",
            "invalid value 'x' for '--expiring <TIME>': use a time such as 7, 36h, 2w or 3mo; a number alone",
        ),
        (
            "doctor --expiring 7x",
            "invalid value '7x' for '--expiring <TIME>': use a time such as 7, 36h, 2w or 3mo; a number alone",
        ),
        ("undo --lock-timeout soon", "for '--lock-timeout <TIME>': use a time such as 500ms, 10s or 5min"),
        ("list --connect-timeout 10", "for '--connect-timeout <TIME>': use a time such as 500ms, 10s or 5min"),
        (
            "list --since nope",
            "invalid value 'nope' for '--since <AGE>': use an age such as 2h, 2w, 7 days ago or 30 for days",
        ),
        ("cleanup --max-total big", "for '--max-total <SIZE>': use a number of bytes, or a size such as 500M"),
    ] {
        let stderr = world.rejoin(line.split(' ')).code(2).stdout_eq("").stderr();
        assert!(stderr.contains(expected), "{line}: {stderr}");
    }
}

#[test]
fn number_without_unit_means_days() {
    let world = World::new();
    world.add(Claude::session(id(1)).in_dir("/usr").at("2026-02-01T10:00:00Z").turn("old", "y"));
    world.add(Claude::session(id(2)).in_dir("/usr").at("2026-02-25T10:00:00Z").turn("new", "y"));
    let run = |args: &[&str]| world.with("REJOIN_NOW", "2026-03-01T12:00:00Z").rejoin(args).code(0);
    let ids = |args: &[&str]| -> Vec<String> { run(args).sessions().into_iter().map(|session| session.id).collect() };
    assert_eq!(ids(&["list", "--since", "14", "--json"]), [id(2)]);
    assert_eq!(ids(&["list", "since:14", "--json"]), [id(2)]);
    assert_eq!(ids(&["list", "--older-than", "14", "--json"]), [id(1)]);
    assert_eq!(ids(&["list", "--since", "2026", "--json"]).len(), 2, "four digits are a year");
    let plan: Cleanup = run(&["cleanup", "--older-than", "14", "--dry-run", "--json"]).json();
    assert_eq!(plan.items.iter().filter_map(|item| item.id.clone()).collect::<Vec<_>>(), [id(1)]);
}

#[test]
fn help_names_the_picker() {
    let world = World::new();
    for args in [&["--help"][..], &["-h"], &["help"]] {
        let help = world.rejoin(args).code(0).stdout();
        assert!(help.contains("rejoin [WORDS]...    (opens the picker)"), "{help}");
    }
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/man/rejoin.1")).expect("a page");
    assert!(page.contains("`rejoin` alone opens the picker"), "{page}");
}

#[test]
fn foreign_command_name_suggests_command() {
    let world = World::new();
    for (word, instead) in [
        ("find", "search TEXT"),
        ("grep", "search TEXT"),
        ("open", "resume SESSION"),
        ("continue", "resume SESSION"),
        ("pick", "resume"),
        ("view", "show SESSION"),
        ("log", "show SESSION"),
        ("rm", "delete SESSION"),
        ("dedupe", "delete SESSION --copy N"),
        ("ps", "list --running"),
        ("gc", "cleanup"),
        ("prune", "cleanup"),
        ("trash", "undo --list"),
        ("backup", "archive SESSION"),
        ("projects", "list --group project"),
        ("info", "show SESSION"),
        ("last", "resume latest"),
        (".", "resume ."),
    ] {
        let expected = format!(
            "error: unrecognized subcommand '{word}'\n\n  tip: `rejoin {instead}` does that\n\nUsage: rejoin [OPTIONS] <COMMAND>\n"
        );
        for args in [&[word][..], &[word, "relay"]] {
            let stderr = world.rejoin(args).code(2).stdout_eq("").stderr();
            assert!(stderr.starts_with(&expected), "{args:?}: {stderr}");
        }
        let verb = instead.split(' ').next().unwrap_or_default();
        let stderr = world.rejoin(["help", word]).code(2).stderr();
        assert!(stderr.contains(&format!("run `rejoin help {verb}`")), "{word}: {stderr}");
    }
    let stderr = world.rejoin(["frobnicate"]).code(2).stderr();
    let tip = "  tip: `rejoin search frobnicate --pick` looks for it in every session\n";
    assert!(stderr.starts_with(&format!("error: unrecognized subcommand 'frobnicate'\n\n{tip}\nUsage: ")), "{stderr}");
}

#[test]
fn pasted_id_or_command_suggests_its_session() {
    let world = World::new();
    let id = "31c5f2e8-7a4b-4c1d-9e0f-6d2a8b3c4e5f";
    for (args, instead) in [
        (vec![id], format!("resume {id}")),
        (vec!["--home", "/srv", id], format!("--home /srv resume {id}")),
        (vec!["claude", "--resume", id], format!("resume claude:{id}")),
        (vec!["resume", "claude", "--resume", id], format!("resume claude:{id}")),
        (vec!["show", "cursor-agent", &format!("--resume={id}")], format!("show {id}")),
        (vec!["codex", "resume", id], format!("resume codex:{id}")),
        (vec!["claude"], "list claude".to_owned()),
    ] {
        let stderr = world.rejoin(&args).code(2).stderr();
        assert!(stderr.contains(&format!("tip: `rejoin {instead}` does that")), "{args:?}: {stderr}");
    }
}

#[test]
fn usage_error_is_json_with_json_option() {
    let world = World::new();
    for args in [
        &["list", "--since", "nope", "--json"][..],
        &["list", "--since", "nope", "--format", "json"],
        &["list", "--since", "nope", "--format=ndjson"],
    ] {
        let answer = world.rejoin(args).code(2).stdout_eq("");
        let error: Error = serde_json::from_str(&answer.stderr()).expect("one object");
        assert_eq!((error.code.as_str(), error.exit), ("usage", 2), "{args:?}");
        assert!(error.message.starts_with("invalid value 'nope' for '--since <AGE>': use an age"), "{}", error.message);
    }
    let home = ["--home", "/somewhere", "delete", "--json"];
    let error: Error = serde_json::from_str(&world.rejoin(home).code(2).stderr()).expect("one object");
    assert_eq!(error.message, "the following required arguments were not provided: <SESSION>...");
    assert_eq!(error.hint.as_deref(), Some("`rejoin --home /somewhere list` shows the sessions"));
    let text = world.rejoin(["list", "--since", "nope", "--format", "csv"]).code(2).stderr();
    assert!(text.starts_with("error: "), "{text}");
}

#[test]
fn resume_and_hooks_take_every_format() {
    let world = World::with_agents();
    world.add(Claude::session(id(1)).in_dir("/usr").turn("x", "y"));
    let json = world.rejoin(["resume", &id(1), "--json"]).code(0).stdout();
    assert_eq!(world.rejoin(["resume", &id(1), "--format", "json"]).code(0).stdout(), json);
    let plan: ResumePlan = serde_json::from_str(&json).expect("a plan");
    let lines = world.rejoin(["resume", &id(1), "--format", "ndjson"]).code(0).stdout();
    assert!(lines.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()), "{lines}");
    let printed = world.rejoin(["resume", &id(1), "--print"]).code(0).stdout();
    assert_eq!(world.rejoin(["resume", &id(1), "--format", "table"]).code(0).stdout(), printed);
    let csv = world.rejoin(["resume", &id(1), "--format", "csv"]).code(0).stdout();
    assert!(csv.contains(plan.id.as_deref().expect("an id")) && csv.lines().count() == 2, "{csv}");
    for args in [&["hook", "status"][..], &["hook", "install", "--dry-run"], &["hook", "uninstall", "--dry-run"]] {
        let whole = |format: &str| world.rejoin(args.iter().copied().chain(["--format", format])).code(0).stdout();
        let json = world.rejoin(args.iter().copied().chain(["--json"])).code(0).stdout();
        assert_eq!(whole("json"), json, "{args:?}");
        assert_eq!(whole("table"), world.rejoin(args).code(0).stdout(), "{args:?}");
        assert!(whole("tsv").contains('\t') && whole("csv").contains(','), "{args:?}");
    }
}

#[test]
fn long_help_ends_with_examples_of_man_page() {
    let world = World::new();
    let help = world.rejoin(["help", "all"]).code(0).stdout();
    let row = |line: &str| line.strip_prefix("  ").and_then(|row| row.split(' ').next()).map(str::to_owned);
    let commands: Vec<String> = help.lines().filter_map(row).filter(|name| !name.is_empty()).collect();
    assert!(commands.len() >= 24, "{help}");
    for command in commands {
        let help = world.rejoin([&command, "--help"]).code(0).stdout();
        let shown = help.split_once("\nExamples:\n").unwrap_or_else(|| panic!("{command}: {help}")).1;
        let shown = shown.lines().filter_map(|line| line.strip_prefix("  ")).filter(|line| !line.starts_with('#'));
        let run = crate::manual::examples(&format!("rejoin-{command}"));
        let shown: Vec<&str> = shown.collect();
        assert!(
            (1..=2).contains(&shown.len()) && shown.iter().all(|line| run.iter().any(|known| known == line)),
            "{shown:?}"
        );
    }
}

#[test]
fn help_lists_usual_commands_and_names_others() {
    let world = World::new();
    let rows = |args: &[&str]| -> Vec<String> {
        let help = world.rejoin(args).code(0).stdout();
        let rows = help.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        rows.filter(|name| !name.is_empty() && !name.starts_with('-')).map(str::to_owned).collect()
    };
    let (usual, all) = (rows(&["help"]), rows(&["help", "all"]));
    for name in [
        "list", "search", "show", "resume", "stats", "doctor", "move", "cleanup", "delete", "undo", "archive",
        "restore", "export", "tag", "rewind", "agents",
    ] {
        assert!(usual.iter().any(|known| known == name), "{name}: {usual:?}");
    }
    let help = world.rejoin(["help"]).code(0).stdout();
    assert_eq!(rows(&["--help"]), usual);
    let also = help.lines().find(|line| line.starts_with("Also: ")).expect("a line of further commands");
    assert!(all.iter().all(|name| usual.contains(name) || also.contains(&**name)), "{also}");
    assert!(usual.len() < all.len() && usual.iter().all(|name| all.contains(name)), "{all:?}");
}

#[test]
fn guide_names_existing_files() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    for page in ["docs/adding-a-command.md", "docs/adding-an-agent.md"] {
        let text = std::fs::read_to_string(root.join(page)).expect("a page");
        let is_path =
            |word: &&str| ["src/", "tests/", "docs/", "crates/", "examples/"].iter().any(|top| word.starts_with(top));
        let named: Vec<&str> = text.split('`').skip(1).step_by(2).filter(is_path).collect();
        let named = named.into_iter().filter(|path| !path.contains("NAME") && !path.contains(' '));
        let missing: Vec<&str> = named.filter(|path| !root.join(path).exists()).collect();
        assert!(missing.is_empty(), "{page} names {missing:?}");
    }
    let page = std::fs::read_to_string(root.join("docs/adding-a-command.md")).expect("a page");
    let rows =
        page.lines().skip_while(|line| !line.starts_with("| file ")).skip(2).take_while(|line| line.starts_with('|'));
    assert!(rows.count() <= 10, "a command needs too many files");
}

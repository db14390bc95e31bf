//! The common filters of all commands that take sessions: by agent, by directory, by the current directory.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::contract::changes::Cleanup;
use crate::contract::{Details, DoctorReport};
use crate::fixtures::{Amplifier, Claude, Codex, Leo, id};
use crate::terminal::shell;
use crate::world::World;

/// Creates two newer sessions elsewhere, and an older one in `shop`.
fn world() -> World {
    let world = World::with_agents();
    let at = |day| format!("2026-02-0{day}T10:00:00Z");
    world.add(Claude::session(id(1)).in_dir(world.dir("shop")).at(&at(1)).turn("Fix the till", "Done."));
    world.add(Claude::session(id(2)).in_dir(world.dir("desk")).at(&at(2)).turn("Fix the lamp", "Done."));
    world.add(Amplifier::session(id(3)).in_dir(world.dir("desk")).at(&at(3)).turn("Fix the chair", "Done."));
    world
}

#[test]
fn dir_option_filters_every_kind_of_selector() {
    let world = world();
    let shop = world.dir("shop").display().to_string();
    for words in [&["latest"][..], &["1"], &["fix"], &["0000"], &["Fix the till"]] {
        let args = [&["resume", "--dir", &shop][..], words].concat();
        world.rejoin(args).code(0);
        assert_eq!(world.launched().expect("a launch").argv[2], id(1), "{words:?}");
        let args = [&["show", "--json", "--here"][..], words].concat();
        let shown: Details = world.from(&shop).rejoin(args).code(0).json();
        assert_eq!(shown.session.id, id(1), "{words:?}");
    }
    let world = world.from(world.root());
    let found = world.rejoin(["search", "done", "--dir", &shop]).code(0).stdout();
    assert_eq!(found.lines().count(), 1, "{found}");
}

#[test]
fn resume_with_dir_suggests_in() {
    let world = world();
    let shop = world.dir("shop").display().to_string();
    let answer = world.rejoin(["resume", &id(2), "--dir", &shop]).code(5);
    assert!(world.launched().is_none());
    let expected = format!(
        "error: claude:{} does not pass the filters
hint: --dir chooses among sessions; to use that directory instead, run `rejoin resume {} --in {shop}`
",
        id(2),
        id(2)
    );
    assert_eq!(answer.stderr(), expected);
    world.rejoin(["resume", &id(2), "--in", &shop]).code(0);
    assert_eq!(world.launched().expect("a launch").cwd, world.dir("shop"));
    let answer = world.rejoin(["backfill", &id(3), "--dir", &shop]).code(5);
    assert!(answer.stderr().contains(&format!("`rejoin backfill {} --in {shop}`", id(3))), "{}", answer.stderr());
}

#[test]
fn filtered_commands_affect_no_other_sessions() {
    let world = world();
    let shop = world.dir("shop").display().to_string();
    for args in [
        &["show", "lamp"][..],
        &["delete", "lamp", "--yes"],
        &["pin", "lamp"],
        &["archive", "lamp"],
        &["doctor", "lamp"],
        &["delete", "lamp", "--copy", "2"],
    ] {
        let answer = world.from(&shop).rejoin([args, &["--here"]].concat()).code(5);
        assert!(answer.stderr().contains("no session"), "{args:?}: {}", answer.stderr());
        world.rejoin([args, &["--dir", &shop]].concat()).code(5);
    }
    world.rejoin(["archive", &id(2)]).code(0);
    world.rejoin(["restore", &id(2), "--dir", &shop]).code(5);
    world.rejoin(["pin", &id(1), &id(2)]).code(0);
    world.rejoin(["pin", "--remove", "0000000", "--dir", &shop]).code(0);
    let pinned = world.rejoin(["pin", "--list"]).code(0).stdout();
    assert!(pinned.contains(&id(2)) && !pinned.contains(&id(1)), "{pinned}");
    let plan: Cleanup = world
        .rejoin(["cleanup", "--older-than", "1d", "--dir", &shop, "--dry-run", "--json"])
        .code_is_one_of(&[0, 7])
        .json();
    assert_eq!(plan.items.iter().map(|item| item.id.clone()).collect::<Vec<_>>(), [Some(id(1))]);
    let missing = |dir: &str| {
        let args = ["doctor", "--check", "session-info-missing", "--here", "--json"];
        let report: DoctorReport = world.from(world.dir(dir)).rejoin(args).code(0).json();
        report.findings.len()
    };
    assert_eq!([missing("shop"), missing("desk")], [0, 1]);
}

#[test]
fn agent_option_accepts_several_agents() {
    let world = world();
    world.add(Codex::session(id(4)).in_dir(world.dir("desk")).turn("Fix the rug", "Done."));
    let count = |agents: &[&str]| world.rejoin([&["list"][..], agents].concat()).code(0).stdout().lines().count();
    assert_eq!(count(&["--agent", "claude,codex"]), 3);
    assert_eq!(count(&["-a", "claude", "-a", "amplifier"]), 3);
    let answer = world.rejoin(["list", "--agent", "claude,codx"]).code(2);
    assert!(answer.stderr().contains("'codex'"), "{}", answer.stderr());
}

#[test]
fn list_and_resume_filter_words_the_same() {
    let world = World::new();
    let (shop, barn) = (world.dir("shop"), world.dir("barn"));
    world.add(Claude::session(id(1)).in_dir(&shop).at("2026-02-20T10:00:00Z").turn("mend the till", "done"));
    world.add(Claude::session(id(2)).in_dir(&barn).turn("paint it", "done").title("Red till"));
    world.add(Codex::session(id(3)).in_dir(&barn).turn("mend the roof", "done"));
    world.add(Leo::pointer(world.dir("lost"), &id(9)));
    let listed = |words: &[&str]| -> Vec<String> {
        let lines = world.rejoin(["list"].iter().chain(words)).code(0).stdout();
        let mut ids: Vec<String> =
            lines.lines().filter_map(|line| line.split('\t').nth(1)).map(str::to_owned).collect();
        ids.sort_unstable();
        ids
    };
    assert_eq!(listed(&["TILL"]), [id(1), id(2)]);
    assert_eq!(listed(&["mend", "till"]), [id(1)]);
    assert_eq!(listed(&["mend the till"]), [id(1)]);
    assert_eq!(listed(&["barn"]), [id(2), id(3)]);
    assert_eq!(listed(&["agent:codex"]), [id(3)]);
    assert_eq!(listed(&["since:2026-02-15"]), [id(1)]);
    assert_eq!(listed(&["dir:shop", "paint"]), Vec::<String>::new());
    assert_eq!(listed(&["mend", "--agent", "codex"]), [id(3)]);
    let refused = world.rejoin(["list", "agent:nobody"]).code(2).stdout_eq("").stderr();
    assert!(refused.contains("no agent is called nobody"), "{refused}");
    // Only a user gets the note that the words are the reason.
    let shown = world.on_terminal(80, ["list", "nothing"]).code(0).stderr();
    assert!(shown.starts_with("No session has \"nothing\" in its title") && !shown.contains("points to"), "{shown}");
    world.rejoin(["archive", "--every"]).code(0);
    let archived = world.rejoin(["list", "--archived", "till"]).code(0).stdout();
    assert_eq!(archived.lines().count(), 2, "{archived}");
}

#[test]
fn answer_without_session_names_filter_and_nearest_one() {
    let world = world();
    world.add(
        Claude::session(id(8))
            .in_dir(world.dir("barn"))
            .at("2026-02-20T10:00:00Z")
            .title("Sort the mail")
            .turn("x", "y"),
    );
    world.rejoin(["tag", &id(8), "+shop"]).code(0);
    for (line, why) in [
        ("list --tag shp", "No session has the tag shp; the nearest is --tag shop.\n"),
        ("list tag:shp", "No session has the tag shp; the nearest is tag:shop.\n"),
        ("stats --tag shp", "No session has the tag shp; the nearest is --tag shop.\n"),
        ("list dir:brn", "No directory has brn in its path; the nearest is dir:barn.\n"),
        ("list is:exec", "No session has the mark exec.\n"),
        ("list agent:pi", "Pi has no session here.\n"),
        ("list maik", "; the nearest is mail. `rejoin search maik` searches the messages.\n"),
        ("list quokka", "title, first prompt or directory. `rejoin search quokka` searches the messages.\n"),
        ("list --since yesterday", "No session was active since yesterday; the newest was active 2026-02-20.\n"),
        ("list since:2026-02-25", "No session was active since 2026-02-25; the newest was active 2026-02-20.\n"),
        (
            "list since:2026-02-25 until:2026-02-26",
            "No session was active since 2026-02-25; the newest was active 2026-02-20.\n",
        ),
        ("search mail --since yesterday", "No session was active since yesterday; the newest was active 2026-02-20.\n"),
        ("list --older-than 2y", "; the oldest was last active 2026-"),
    ] {
        let stderr = world.on_terminal(200, line.split(' ')).code(0).stderr();
        assert!(stderr.contains(why), "{line}: {stderr}");
        assert_eq!(world.rejoin(line.split(' ')).code(0).stderr(), "", "{line}");
    }
    let error = world.rejoin(["show", "tag:shp", "--json"]).code(5).error();
    assert_eq!(
        (error.message.as_str(), error.hint.as_deref()),
        ("no session has the tag shp", Some("use `tag:shop` instead"))
    );
    let mut seat = shell(&world, "resume");
    for (typed, said) in [
        ("tag:shp", "no session has the tag shp; the nearest is tag:shop"),
        ("agent:cluade", "no agent is called cluade; the nearest is agent:claude"),
        ("dir:brn", "no directory has brn in its path; the nearest is dir:barn"),
        ("since:3m", "m may mean minutes or months; use 3min or 3mo"),
    ] {
        seat.types(&format!("\x15{typed}"));
        seat.shows(said);
    }
    seat.types("\x1b");
    assert_eq!(seat.ends().0, Some(130));
}

#[test]
fn answer_without_session_mentions_archive_and_trash() {
    let world = World::new();
    world.add(Claude::session(id(1)).title("Deploy the relay").turn("deploy it", "deployed"));
    world.add(Claude::session(id(2)).title("Sort the mail").turn("x", "y"));
    world.add(Claude::session(id(3)).title("Water the lamps").turn("x", "y"));
    world.rejoin(["archive", &id(1)]).code(0);
    world.rejoin(["delete", &id(1), &id(2), "--yes"]).code(0);
    let stderr = world.on_terminal(200, ["list", "deploy"]).code(0).stderr();
    assert!(stderr.contains("1 archived session matches: `rejoin list deploy --archived`.\n"), "{stderr}");
    let listed = world.rejoin(["list", "deploy", "--archived"]).code(0).stdout();
    assert!(listed.contains(&id(1)), "{listed}");
    let stderr = world.on_terminal(200, ["search", "deployed"]).code(0).stderr();
    let note = "1 archived session is not in a store; `rejoin search deployed --archived` searches the archive.\n";
    assert!(stderr.contains(note), "{stderr}");
    for line in ["list mail", "search mail"] {
        let stderr = world.on_terminal(200, line.split(' ')).code(0).stderr();
        assert!(stderr.contains("1 session in the trash has that title; `rejoin undo "), "{line}: {stderr}");
    }
    for line in ["list lamps", "list mail -a codex"] {
        let stderr = world.on_terminal(200, line.split(' ')).code(0).stderr();
        assert!(!stderr.contains("archive") && !stderr.contains("trash"), "{line}: {stderr}");
    }
}

#[test]
fn directory_without_sessions_suggests_nearest() {
    let world = world();
    let (shop, slip) = (world.dir("shop"), world.root().join("shpo"));
    let [shop, slip] = [shop, slip].map(|dir| dir.display().to_string());
    let note = format!("No session worked in {slip} or below it. Closest:\n");
    for words in [
        &["list"][..],
        &["search", "till"],
        &["stats"],
        &["doctor"],
        &["cleanup", "--dry-run"],
        &["archive", "--every", "--dry-run"],
        &["backfill", "--every", "--dry-run"],
    ] {
        let command = format!("  `rejoin {} --dir {shop}`  (1 session)\n", words.join(" "));
        let answer = world.rejoin([words, &["--dir", &slip]].concat()).code(0);
        assert!(answer.stderr().contains(&format!("{note}{command}")), "{words:?}: {}", answer.stderr());
        let right = world.rejoin([words, &["--dir", &shop]].concat()).stderr();
        assert!(!right.contains("No session worked"), "{words:?}: {right}");
    }
    for words in [
        &["show", "latest"][..],
        &["resume", "till"],
        &["show", "--path", "0000"],
        &["delete", "fix the till"],
        &["export"],
    ] {
        let error = world.rejoin([words, &["--dir", &slip]].concat()).code(5).stderr();
        assert!(error.contains(&format!("error: no session worked in {slip} or below it\n")), "{words:?}: {error}");
        assert!(error.contains(&format!(" --dir {shop}`  (1 session)\n")), "{words:?}: {error}");
    }
    // Another filter excludes the session, not the directory.
    let error = world.rejoin(["show", "latest", "--dir", &shop, "--since", "2026-02-20"]).code(5).stderr();
    assert!(error.contains("no session passes the filters"), "{error}");
    world.rejoin(["tag", "till", "+other"]).code(0);
    let error = world.rejoin(["show", "latest", "--dir", &shop, "--tag", "none"]).code(5).stderr();
    assert!(error.contains("no session passes the filters"), "{error}");
    // In a directory without sessions, a user gets a note on the nearest directories, and a script gets nothing.
    let nearby = world.dir("desk/drawer");
    assert_eq!(world.from(&nearby).rejoin(["list", "--here"]).code(0).stderr(), "");
}

#[test]
fn since_and_until_match_any_activity_between() {
    let world = World::new();
    let app = world.dir("app");
    let at = |n: u32, times: &[&str]| {
        let session = Claude::session(id(n)).in_dir(&app);
        times.iter().fold(session, |session, time| session.at(time).turn("x", "y"))
    };
    world.add(at(1, &["2026-01-01T10:00:00Z", "2026-02-10T10:00:00Z", "2026-02-25T10:00:00Z"]));
    world.add(at(2, &["2026-01-01T10:00:00Z", "2026-02-25T10:00:00Z"]));
    world.add(at(3, &["2026-01-01T10:00:00Z", "2026-01-02T10:00:00Z"]));
    world.add(at(4, &["2026-02-20T10:00:00Z"]));
    world.add(at(5, &["2026-02-09T10:00:00Z"]));
    let span = ["--since", "2026-02-09", "--until", "2026-02-16"];
    for verb in [&["list"][..], &["search", "x"], &["list", "--limit", "9"]] {
        let args: Vec<&str> = verb.iter().chain(&span).copied().chain(["--json"]).collect();
        let found: Value = world.rejoin(&args).code(0).json();
        let sessions = found["sessions"].as_array().expect("sessions");
        let of = |session: &Value| session["id"].as_str().or(session["session"]["id"].as_str()).map(str::to_owned);
        let ids: BTreeSet<String> = sessions.iter().filter_map(of).collect();
        assert_eq!(ids, BTreeSet::from([id(1), id(5)]), "{verb:?}");
    }
    let ids = world.rejoin(["list", "--until", "2026-01-15", "--fields", "id"]).code(0).stdout();
    assert_eq!(
        ids.lines().collect::<BTreeSet<_>>(),
        BTreeSet::from([&*id(1), &id(2), &id(3)]),
        "active before, and perhaps later"
    );
    let ids = world.rejoin(["list", "--older-than", "2026-01-15", "--fields", "id"]).code(0).stdout();
    assert_eq!(ids, id(3) + "\n");
    let total =
        world.rejoin(["stats", "--since", "2026-02-09", "--until", "2026-02-16", "--json"]).code(0).json::<Value>();
    assert_eq!(total["total"]["sessions"], 2);
}

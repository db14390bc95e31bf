//! The config file: its effects, the options that override it, the errors in it; and `config`.

use std::collections::BTreeSet;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::PathBuf;

use serde_json::json;
use snapbox::str;

use crate::contract::changes::{Cleanup, KeptFor};
use crate::contract::config::{Config, Source};
use crate::fixtures::{Claude, Codex, Jido, Pi, age_tree, id, make_fifo, put};
use crate::picture::picture;
use crate::world::World;

fn file(world: &World) -> PathBuf {
    world.home().join(".config/rejoin/config.toml")
}

fn configured(text: &str) -> World {
    let world = World::new();
    put(&file(&world), text);
    world
}

/// Adds a session of a day.
fn add(world: &World, n: u32, dir: &str, day: &str) {
    let session = Claude::session(id(n)).in_dir(dir).at(&format!("{day}T10:00:00Z"));
    world.add(session.turn(&format!("prompt {n}"), "y"));
}

#[test]
fn config_shows_each_setting_with_its_source() {
    let world = configured(
        "pager = \"less -R\"\narchive.dir = \"~/kept\"\n[list]\nlimit = 3\n\n[hosts]\nlab = [\"one\", \"ana@two\"]\n",
    );
    let config: Config = world.with("PAGER", "look").rejoin(["config", "--json"]).code(0).stderr_eq("").json();
    let setting = |key: &str| config.settings.iter().find(|setting| setting.key == key).expect("a key");
    assert!(config.exists && config.file.path == file(&world).to_string_lossy());
    assert_eq!((setting("pager").source, &setting("pager").value), (Source::Environment, &json!("look")));
    assert_eq!((setting("list.limit").line, &setting("list.limit").value), (Some(4), &json!(3)));
    assert_eq!((setting("hosts.lab").line, &setting("hosts.lab").value), (Some(7), &json!(["one", "ana@two"])));
    assert_eq!(
        (setting("cleanup.older-than").source, &setting("cleanup.older-than").value),
        (Source::Default, &json!("30d"))
    );
    assert_eq!((setting("archive.dir").line, &setting("archive.dir").value), (Some(2), &json!("~/kept")));
    world.on_terminal(80, ["config", "--color", "never"]).code(0).stdout_eq(str![[r#"
~/.config/rejoin/config.toml
KEY                 VALUE                                                FROM
pager               less -R                                              line 1
archive.dir         ~/kept                                               line 2
sync.map                                                                 default
list.agent          every agent                                          default
list.since          any time                                             default
list.limit          3                                                    line 4
list.fields         agent, id, title, launch_dir, active_at, size_byte…  default
list.sort           active_at                                            default
list.wide           false                                                default
list.map                                                                 default
cleanup.older-than  30d                                                  default
cleanup.keep-last   0                                                    default
cleanup.trash-keep  14d                                                  default
cleanup.archive     false                                                default
hosts.lab           one, ana@two                                         line 7
Briefings: ~/.local/state/rejoin/briefings; cleanup removes them after 30 days

"#]]);
    let without: Config = world.rejoin(["config", "--no-config", "--json"]).code(0).json();
    assert!(!without.exists && without.settings.iter().all(|setting| setting.source == Source::Default));
    let elsewhere = world.dir("settings");
    put(&elsewhere.join("rejoin/config.toml"), "[list]\nlimit = 7\n");
    let config: Config = world.with("XDG_CONFIG_HOME", &elsewhere).rejoin(["config", "--json"]).code(0).json();
    assert!(config.settings.iter().any(|setting| setting.value == json!(7)), "{config:?}");
}

#[test]
fn options_override_the_file_and_pipes_ignore_it() {
    let world = configured("[list]\nsince = \"7d\"\nlimit = 1\nfields = [\"id\", \"title\"]\nagent = \"claude\"\n");
    add(&world, 1, "/usr", "2026-01-01");
    add(&world, 2, "/usr", "2026-02-27");
    add(&world, 3, "/usr", "2026-02-28");
    world.add(Jido::session(id(4)).in_dir("/usr").unsigned());
    let table = |more: &[&str]| {
        let args = ["list", "--color", "never"].iter().chain(more);
        let answer = world.on_terminal(100, args).code(0);
        (answer.stdout().lines().skip(1).map(str::to_owned).collect::<Vec<_>>(), answer.stderr())
    };
    let (rows, notes) = table(&[]);
    assert_eq!(rows, ["00000003  prompt 3"]);
    assert!(notes.contains("list.since = 7d, list.agent = claude. `rejoin list --color never --no-config`"), "{notes}");
    assert!(notes.contains("1 more"), "{notes}");
    assert_eq!(table(&["--limit", "0"]).0.len(), 2);
    assert_eq!(table(&["--limit", "0", "--older-than", "1d"]).0.len(), 3, "another time is another filter");
    assert_eq!(table(&["--limit", "0", "--agent", "jido", "--since", "2025"]).0.len(), 1);
    assert_eq!(table(&["--limit", "0", "prompt"]).0.len(), 3, "words look everywhere");
    assert!(table(&["--fields", "dir"]).0[0].starts_with("/usr"));
    let (rows, notes) = table(&["--no-config"]);
    assert!(rows.len() == 4 && !notes.contains("config.toml"), "{rows:?}\n{notes}");
    let piped = world.rejoin(["list"]).code(0).stderr_eq("").stdout();
    assert!(piped.lines().count() == 4 && piped.lines().all(|line| line.matches('\t').count() == 6), "{piped}");
    assert_eq!(world.rejoin(["list", "--json"]).code(0).sessions().len(), 4);
}

/// Returns the numbers of the sessions that a cleanup would remove.
fn would_go(world: &World, args: &[&str]) -> (Vec<u32>, Cleanup) {
    let args = ["cleanup", "--dry-run", "--json", "--allow-all"].iter().chain(args);
    let plan: Cleanup = world.rejoin(args).code(0).json();
    let number = |n: &u32| plan.ids().contains(&id(*n).as_str());
    ((1..=9).filter(number).collect(), plan)
}

#[test]
fn cleanup_uses_age_and_keep_rules_of_file() {
    let world = World::new();
    for (n, dir, day) in [
        (1, "/usr", "2025-12-01"),
        (2, "/usr", "2026-01-10"),
        (3, "/usr/lib", "2025-12-01"),
        (4, "/usr/lib", "2025-11-01"),
        (5, "/etc", "2026-02-10"),
        (6, "/etc", "2026-02-28"),
    ] {
        add(&world, n, dir, day);
    }
    assert_eq!(would_go(&world, &[]).0, [1, 2, 3, 4]);
    put(&file(&world), "[cleanup]\nolder-than = \"14d\"\n");
    assert_eq!(would_go(&world, &[]).0, [1, 2, 3, 4, 5]);
    world.rejoin(["cleanup", "--dry-run", "--allow-all"]).code(0).stderr_eq(str![[r#"
The config file adds --older-than 14d from ~/.config/rejoin/config.toml:2.

"#]]);
    assert_eq!(would_go(&world, &["--older-than", "60d"]).0, [1, 3, 4], "an option wins");
    assert_eq!(would_go(&world, &["--no-config"]).0, [1, 2, 3, 4]);
    let rules =
        "[[cleanup.keep]]\ndir = \"/usr/lib\"\nlast = 1\n[[cleanup.keep]]\nagent = \"claude\"\nsince = \"60d\"\n";
    put(&file(&world), rules);
    let (going, plan) = would_go(&world, &[]);
    assert_eq!(going, [1, 4]);
    assert_eq!(plan.kept(KeptFor::KeepRule), 4);
    assert_eq!(would_go(&world, &["--any-age"]).0, [1, 4], "a rule holds whatever is asked for");
    put(&file(&world), "[[cleanup.keep]]\ndir = \"/usr\"\n");
    assert_eq!(would_go(&world, &[]).0, [0; 0], "and without a condition for good");
    world.rejoin(["delete", &id(1), "--yes"]).code(0);
}

#[test]
fn keep_rule_never_makes_cleanup_remove_more() {
    let world = World::new();
    for n in 1..=9 {
        add(&world, n, ["/usr", "/etc", "/"][n as usize % 3], &format!("2026-0{}-1{n}", 1 + n % 2));
    }
    let bare = would_go(&world, &[]).0;
    for rule in
        ["last = 0", "last = 2", "since = \"1h\"", "agent = \"jido\"", "dir = \"/etc\"\nsince = \"1d\"\nlast = 1"]
    {
        put(&file(&world), format!("[[cleanup.keep]]\n{rule}\n"));
        let going = would_go(&world, &[]).0;
        assert!(going.iter().all(|n| bare.contains(n)), "{rule}: {going:?} {bare:?}");
    }
}

#[test]
fn every_command_uses_archive_directory_of_file() {
    let world = World::new();
    add(&world, 1, "/usr", "2026-01-01");
    let dir = world.dir("volume").join("archive");
    put(&file(&world), format!("[archive]\ndir = {dir:?}\n[cleanup]\narchive = true\n"));
    world.rejoin(["list", "--archived"]).code(5);
    world.rejoin(["cleanup", "--yes", "--allow-all"]).code(0);
    assert!(crate::archive::machine_dir(&dir).join("blobs").is_dir());
    assert!(world.rejoin(["resume", &id(1), "--print"]).code(5).stderr().contains("it is in the trash"));
    world.rejoin(["undo", "--purge", "--every", "--yes"]).code(0);
    assert!(world.rejoin(["resume", &id(1), "--print"]).code(5).stderr().contains("it is in the archive"));
    world.rejoin(["show", "--archived", &id(1)]).code(0);
    world.rejoin(["restore", &id(1)]).code(0);
    assert!(!world.home().join(".local/share/rejoin/archive").exists());
}

#[test]
fn config_error_stops_every_command() {
    let world = configured("[list]\nlimt = 3\n");
    add(&world, 1, "/usr", "2026-01-01");
    for args in [&["list"][..], &["config"], &["resume", "latest"], &["doctor"], &["undo"]] {
        world.rejoin(args).code(2).stdout_eq("").stderr_eq(str![[r#"
error: [..]/home/.config/rejoin/config.toml:2: there is no key list.limt
hint: the nearest key is list.limit; run `rejoin help config` to see every key, or use --no-config this time

"#]]);
        world.rejoin(["--no-config"].iter().chain(args)).code_is_one_of(&[0, 2, 4, 5, 127]);
    }
    assert_eq!(world.rejoin(["list", "--json"]).code(2).error().code, "bad-config");
    world.rejoin(["help", "config"]).code(0);
    world.rejoin(["hook", "status"]).code_is_one_of(&[0, 1]);
    put(&file(&world), b"[list]\n# \xff\n");
    assert!(world.rejoin(["list"]).code(2).stderr().contains("config.toml:2: this is not UTF-8"));
}

#[test]
fn config_must_not_be_writable_by_others() {
    let world = configured("[list]\nlimit = 1\n");
    let (file, dir) = (file(&world), file(&world).parent().map(PathBuf::from).expect("a directory"));
    let mode = |path: &PathBuf, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).expect("a mode");
    let says = |expected: &str| {
        let error = world.rejoin(["list"]).code(1).stderr();
        assert!(error.contains(expected), "{error}");
    };
    for (path, open, shut) in [(&file, 0o646, 0o600), (&dir, 0o757, 0o700)] {
        mode(path, open);
        says(&format!("other users can write {}, so it is not used", path.display()));
        says(&format!("hint: run `chmod go-w {}`", path.display()));
        mode(path, shut);
        world.rejoin(["list"]).code(0);
    }
    if rustix::process::geteuid().is_root() {
        chown(&file, Some(4321), Some(4321)).expect("an owner");
        says("belongs to another user, 4321, so it is not used");
        let home = world.home();
        world.rejoin(["--home", home.to_str().expect("a path"), "list"]).code(0);
    }
    std::fs::remove_file(&file).expect("no file");
    std::fs::create_dir(&file).expect("a directory");
    says("it is not a regular file");
    std::fs::remove_dir(&file).expect("no directory");
    make_fifo(&file);
    says("it is not a regular file");
    std::fs::remove_file(&file).expect("no FIFO");
    put(&file, "#".repeat(300 * 1024));
    says("it is larger than 262144 bytes");
    std::fs::remove_file(&file).expect("no file");
    // Many users keep config files in a repository and link to them.
    put(&world.root().join("dotfiles/rejoin.toml"), "[list]\nlimit = 0\n");
    symlink(world.root().join("dotfiles/rejoin.toml"), &file).expect("a link");
    let config: Config = world.rejoin(["config", "--json"]).code(0).json();
    assert!(config.exists);
    std::fs::remove_dir_all(&dir).expect("no directory");
    put(&dir, "a file where the directory would be");
    world.rejoin(["list"]).code(0);
}

#[test]
fn config_of_other_home_runs_no_programs() {
    let world =
        configured("pager = \"evil\"\n[archive]\ndir = \"/elsewhere\"\n[list]\nlimit = 9\n[hosts]\nall = [\"evil\"]\n");
    let home = world.home();
    let config: Config = world.rejoin(["--home", home.to_str().expect("a path"), "config", "--json"]).code(0).json();
    let from_file = config.settings.iter().filter(|setting| setting.source == Source::File);
    assert_eq!(from_file.map(|setting| setting.key.as_str()).collect::<Vec<_>>(), ["list.limit"]);
}

#[test]
fn no_command_writes_the_config() {
    let world = configured("[list]\nlimit = 1\n");
    add(&world, 1, "/usr", "2026-01-01");
    let before = picture(world.root());
    for args in [&["config"][..], &["config", "--json"], &["list"], &["help", "config"], &["config", "--no-config"]] {
        world.rejoin(args).code(0);
    }
    assert_eq!(picture(world.root()), before);
}

#[test]
fn command_line_refuses_relative_home() {
    let world = World::new();
    world.add(Pi::session(id(1)).in_dir("/usr/bin").turn("one", "ok"));
    // A cloned repository contains a config file, and data where agents would search below a relative variable.
    let clone = world.dir("clone");
    put(&clone.join(".config/rejoin/config.toml"), "[list]\nagent = [\"nobody\"]\n");
    put(&clone.join("rejoin/config.toml"), "[list]\nagent = [\"nobody\"]\n");
    for home in [".", "clone", "./"] {
        let refused = world.from(&clone).with("HOME", home).rejoin(["list"]).code(1);
        let expected = format!(
            "error: HOME is {home}, which is not an absolute path\n\
             hint: set HOME to your home directory, or name one with --home DIR\n"
        );
        refused.stderr_eq(expected).stdout_eq("");
    }
    let named = world.home().display().to_string();
    let list = world.from(&clone).with("HOME", ".").rejoin(["list", "--home", &named]).code(0);
    assert!(list.stdout().contains(&id(1)), "{}", list.stdout());
    let relative = ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"];
    let call = relative.iter().fold(world.from(&clone), |call, name| call.with(name, "."));
    call.rejoin(["list", "--fields", "id"]).code(0).stdout_eq(format!("{}\n", id(1)));
}

/// Moves an agent's usual directory to another place of the home.
fn move_home(world: &World, from: &str, to: &str) {
    let to = world.home().join(to);
    std::fs::create_dir_all(to.parent().expect("a parent")).expect("a directory");
    std::fs::rename(world.home().join(from), to).expect("a move");
}

#[test]
fn store_of_another_program_is_not_proposed() {
    let world = World::new();
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("tar the punt", "Done."));
    move_home(&world, ".claude", ".qoderwork");
    world.add(Claude::session(id(2)).in_dir(&app).turn("caulk the hull", "Done."));
    move_home(&world, ".claude", ".other");
    put(&world.home().join(".junie/sessions/index.jsonl"), "{}\n");
    age_tree(&world.home());
    let agents: serde_json::Value = serde_json::from_str(&world.rejoin(["agents", "--json"]).stdout()).expect("JSON");
    let not_read = agents["not_read"].as_array().expect("a list");
    let instead =
        |name: &str| not_read.iter().find(|store| store["name"] == name).expect("a store")["instead"].to_string();
    assert!(instead("Junie").contains("junie --resume"), "{agents}");
    assert!(!instead("QoderWork").contains("stores"), "{agents}");
    assert!(instead("Claude Code").contains("~/.other") && instead("Claude Code").contains("program ="), "{agents}");
}

#[test]
fn config_stores_work_like_default_stores() {
    let world = World::with_agents();
    world.install("code", "");
    let app = world.dir("app");
    world.add(Claude::session(id(1)).in_dir(&app).turn("the plain home", "y"));
    move_home(&world, ".claude", "moved");
    world.add(Claude::session(id(2)).in_dir(&app).turn("the second account", "y"));
    move_home(&world, ".claude", ".claudeHome");
    move_home(&world, "moved", ".claude");
    world.add(Codex::session(id(3)).in_dir(&app).turn("a fork of Codex", "y"));
    move_home(&world, ".codex", ".code");
    world.add(Pi::session(id(4)).in_dir(&app).turn("a home of another machine", "y"));
    move_home(&world, ".pi", "old/.pi");
    age_tree(&world.home());

    // The stores are named where they are found.
    let agents = world.rejoin(["agents", "--format", "table"]).code(0).stdout();
    assert!(
        agents.contains("Found, not read: Claude Code (~/.claudeHome), Codex (~/.code).\n`[[stores]]` in"),
        "{agents}"
    );
    let home = world.home().display().to_string();
    let foreign = world.rejoin(["agents", "--format", "table", "--home", &home]).code(0).stdout();
    assert!(foreign.contains("Found, not read: Claude Code (~/.claudeHome), Codex (~/.code)."), "{foreign}");
    let agents: serde_json::Value = serde_json::from_str(&world.rejoin(["agents", "--json"]).stdout()).expect("JSON");
    let instead = "`[[stores]]`, `agent = \"codex\"`, `home = \"~/.code\"` and `program = \"NAME\"`, the program that wrote it, \
                   in the config file";
    assert_eq!(agents["not_read"][1]["instead"], instead);
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 1);

    let text = "[[stores]]\nagent = \"claude\"\nhome = \"~/.claudeHome\"\nvariables = { TEAM = \"two\" }\n\n[[stores]]\n\
                agent = \"codex\"\nhome = \"~/.code\"\nprogram = \"code\"\n\n[[stores]]\nagent = \"pi\"\nhome = \"~/old\"\n";
    put(&file(&world), text);
    let listed = world.rejoin(["list", "--json"]).sessions();
    assert_eq!(listed.iter().map(|session| &*session.id).collect::<BTreeSet<_>>().len(), 4, "{listed:#?}");
    world.rejoin(["search", "fork"]).code(0);
    let agents: serde_json::Value = serde_json::from_str(&world.rejoin(["agents", "--json"]).stdout()).expect("JSON");
    assert_eq!(agents["not_read"], json!([]));
    assert!(agents.to_string().contains("/.claudeHome"));
    for (n, expected) in [
        (1, format!("claude --resume {}", id(1))),
        (2, format!("CLAUDE_CONFIG_DIR={home}/.claudeHome TEAM=two claude --resume {}", id(2))),
        (3, format!("CODEX_HOME={home}/.code code resume {}", id(3))),
        (4, format!("HOME={home}/old pi --session {}", id(4))),
    ] {
        let printed = world.rejoin(["resume", &id(n), "--print"]).code(0).stdout().replace('\'', "");
        assert!(printed.contains(&expected), "{expected}: {printed}");
    }
    world.rejoin(["resume", &id(3)]).code(0);
    assert!(world.launched().is_some_and(|launch| launch.argv[0].ends_with("code") && launch.argv[1] == "resume"));

    // Changes affect these stores, and can be undone.
    let before = picture(&world.home().join(".claudeHome"));
    world.rejoin(["delete", &id(2), "--yes"]).code(0);
    assert_eq!(world.rejoin(["list", "--json"]).sessions().len(), 3);
    world.rejoin(["undo"]).code(0);
    assert_eq!(picture(&world.home().join(".claudeHome")), before);

    // The config file of another home starts no program and reads no file outside of it.
    let foreign = world.rejoin(["list", "--json", "--home", &home]).sessions();
    assert_eq!(foreign.len(), 1, "{foreign:#?}");
}

#[test]
fn filters_match_mapped_directories() {
    let world = World::new();
    let shop = world.dir("code/shop");
    add(&world, 1, "/workspaces/shop", "2026-02-01");
    add(&world, 2, "/workspaces/shop/api", "2026-02-01");
    add(&world, 3, &shop.display().to_string(), "2026-02-01");
    add(&world, 4, "/workspaces/shop2", "2026-02-01");
    let listed = |args: &[&str]| -> Vec<String> {
        let args = ["list", "--json"].iter().chain(args);
        let found = world.from(&shop).rejoin(args).code(0).sessions();
        found.into_iter().map(|session| session.id).collect::<BTreeSet<_>>().into_iter().collect()
    };
    assert_eq!(listed(&["--here"]), [id(3)]);
    put(&file(&world), format!("[list]\nmap = [\"/workspaces/shop={}\"]\n", shop.display()));
    for args in [&["--here"][..], &["--dir", "."], &["--dir", ".."]] {
        assert_eq!(listed(args), [1, 2, 3].map(id), "{args:?}");
    }
    assert_eq!(listed(&["--dir", "api"]), [id(2)]);
    assert_eq!(listed(&["--dir", "/workspaces/shop2"]), [id(4)]);
    // A plan for this directory applies to the mapped one, too.
    let plan: Cleanup = world.from(&shop).rejoin(["cleanup", "--here", "--any-age", "--dry-run", "--json"]).json();
    assert_eq!(plan.ids(), [1, 2, 3].map(id));
}

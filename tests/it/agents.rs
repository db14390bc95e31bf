//! Tests for every agent, so that a new one is covered without separate tests.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::agent_rules;
use crate::contract::changes::Move;
use crate::contract::{DoctorReport, Liveness, Session, Severity, names};
use crate::facts::{copy_tree, corpora};
use crate::generated::{assert_part, is_overwriting};
use crate::ordinary;
use crate::picture::{picture, picture_of_stores};
use crate::undo::assert_same;
use crate::world::World;

/// Files that may name an agent, because they exist for one agent only.
const BY_MISSION: [&str; 1] = ["commands/backfill.rs"];

#[test]
fn only_folder_of_agent_names_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut faults = Vec::new();
    for entry in walkdir::WalkDir::new(&src).sort_by_file_name() {
        let entry = entry.expect("an entry");
        let file = entry.path().strip_prefix(&src).expect("a path below");
        let is_source = file.extension().is_some_and(|extension| extension == "rs") && !file.ends_with("tests.rs");
        if !is_source || file.starts_with("agent") || BY_MISSION.iter().any(|known| file == Path::new(known)) {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).expect("a source file");
        // Unit tests may use any agent as an example.
        let lines = text.lines().enumerate().take_while(|(_, line)| !line.ends_with("mod tests {"));
        for (number, line) in lines {
            let named = line.match_indices("AgentKind::").map(|(at, path)| &line[at + path.len()..]);
            if named.into_iter().any(|name| name.starts_with(|c: char| c.is_ascii_uppercase())) {
                faults.push(format!("src/{}:{}: {}", file.display(), number + 1, line.trim()));
            }
        }
    }
    assert!(faults.is_empty(), "what is said of an agent is for its folder to tell:\n{}", faults.join("\n"));
}

/// Returns an agent's title in docs/agents.md.
fn title(agent: &str) -> String {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agents.md")).expect("a page");
    let mut parts = page.split("\n## ").filter_map(|part| part.split_once('\n'));
    let part = parts.find(|(_, rows)| rows.starts_with(&format!("* **`{agent}` sessions**")));
    part.expect("a title").0.to_owned()
}

#[test]
fn readme_names_every_agent() {
    let mut titles: Vec<String> = names().iter().map(|agent| title(agent)).collect();
    titles.sort();
    let page = include_str!("../../README.md");
    agent_rules::hold("README.md names it", ".ci/generate", |agent| {
        let is_named = page.contains(&format!("| {} |", title(agent)));
        assert!(is_named || is_overwriting(), "the table is stale: run .ci/generate");
    });
    let rows = titles.chunks(6).map(|row| format!("| {} |\n", row.join(" | ")));
    let table: Vec<String> = rows.collect();
    let rule = format!("|{}\n", " --- |".repeat(6));
    assert_part("README.md", "agents", &[&table[..1], &[rule], &table[1..]].concat().concat());
}

#[test]
fn page_names_the_files_of_every_agent() {
    let page = include_str!("../../docs/agents.md");
    let (_, part) = page.split_once("\n## Files\n").expect("a part");
    let rows = part.lines().skip_while(|line| !line.starts_with("| `")).take_while(|line| line.starts_with("| `"));
    let mut named: Vec<&str> = Vec::new();
    for row in rows {
        let agents = row.split('|').nth(1).expect("a column");
        named.extend(agents.split('`').skip(1).step_by(2));
    }
    let mut all = names().to_vec();
    all.sort_unstable();
    agent_rules::hold("docs/agents.md names the files that are read", "docs/agents.md (Files)", |agent| {
        assert_eq!(named.iter().filter(|name| **name == agent).count(), 1, "it needs one row in the table of files");
    });
    named.sort_unstable();
    assert_eq!(named, all);
}

#[test]
fn page_has_record_types_of_each_measured_version() {
    let shapes: BTreeMap<String, serde_json::Value> =
        serde_json::from_str(include_str!("../../e2e/shapes.json")).expect("JSON");
    let mut text = String::from("| agent | version | records |\n| --- | --- | --- |\n");
    for (name, shape) in &shapes {
        let agent = name.trim_end_matches("-old");
        assert!(names().contains(&agent), "{name}");
        let versions: Vec<&str> =
            shape["versions"].as_array().expect("versions").iter().flat_map(|it| it.as_str()).collect();
        let mut by_file: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for key in shape["records"].as_object().expect("records").keys() {
            let (file, kind) = key.split_once(' ').unwrap_or((key, ""));
            // The tables of a full-text index are derived from the table that it indexes.
            let is_index = file == "table" && kind.contains("_fts_");
            by_file.entry(file).or_default().extend((!kind.is_empty() && !is_index).then_some(kind));
        }
        let words = by_file.iter().map(|(file, kinds)| {
            let kinds: Vec<String> = kinds.iter().map(|kind| format!("`{kind}`")).collect();
            match (*file, kinds.is_empty()) {
                ("table", _) => format!("tables {}", kinds.join(" ")),
                (_, true) => format!("`{file}`"),
                (_, false) => format!("`{file}`: {}", kinds.join(" ")),
            }
        });
        let words: Vec<String> = words.collect();
        text.push_str(&format!("| `{agent}` | {} | {} |\n", versions.join(", "), words.join("; ")));
    }
    assert_part("docs/agents.md", "records", &text);
}

/// Agents whose sessions this build cannot read.
pub(crate) const NEEDS_SQLITE: [&str; 7] = ["antigravity", "crush", "devin", "goose", "hermes", "kilo", "opencode"];

/// Agents whose files were never measured, so that rejoin only reads their sessions.
pub(crate) const ONLY_READ: [&str; 7] = ["amp", "antigravity", "cursor", "devin", "kiro", "prime", "roo"];

#[test]
fn every_agent_supports_list_show_search_and_resume() {
    agent_rules::hold("its session is listed, shown, found and resumed", agent_rules::GUIDE, |agent| {
        if !cfg!(feature = "sqlite") && NEEDS_SQLITE.contains(&agent) {
            return;
        }
        let world = World::new();
        let is_there = ordinary::write(agent, &world);
        assert!(is_there, "{agent} has no session in tests/it/ordinary.rs and none in src/agent/{agent}/sample");
        let before = picture(&world.home());
        let listed = world.rejoin(["list", "--agent", agent, "--all", "--counts", "--json"]).code(0).sessions();
        assert_eq!(listed.len(), 1, "{agent}");
        let session = &listed[0];
        assert_eq!((session.prompts, session.replies), (Some(1), Some(1)), "{agent}");
        assert!(
            session.launch_path().is_some_and(|dir| Path::new(dir).is_dir()),
            "{agent}: {:?}",
            session.launch_path()
        );
        assert!(session.active_at.is_some() && session.size_bytes > Some(0), "{agent}");
        let asked = session.first_prompt.clone().unwrap_or_else(|| panic!("{agent} has no first prompt"));
        let shown = world.rejoin(["show", &session.id, "--transcript"]).code(0).stdout();
        assert!(shown.contains(&asked) && shown.lines().count() > 1, "{agent}: {shown}");
        let found = world.rejoin(["search", &asked]).code(0).stdout();
        assert!(found.contains(&session.id), "{agent}: {found}");
        let resumed = world.rejoin(["resume", &session.id, "--print"]).code(0).stdout();
        assert!(!resumed.trim().is_empty(), "{agent}");
        world.rejoin(["doctor", "--agent", agent]).code_is_one_of(&[0, 4]);
        assert!(before == picture(&world.home()), "{agent}: looking has changed something");
    });
}

#[test]
fn move_carries_or_refuses_every_agents_session() {
    agent_rules::hold("`rejoin move` carries its session, or says why not", agent_rules::GUIDE, |agent| {
        let world = World::new();
        let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
        // Aider's file is in the project, and moves with it.
        if !can_be_read || agent == "aider" || !ordinary::write(agent, &world) {
            return;
        }
        let session = || world.rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions().remove(0);
        let (id, old) = (session().id, session().launch_path().expect("a directory").to_owned());
        let new = world.dir("the new place");
        let new = new.to_str().expect("a path in UTF-8");
        let found = || {
            let report: DoctorReport =
                world.rejoin(["doctor", "--agent", agent, "--json"]).code_is_one_of(&[0, 4]).json();
            report
                .findings
                .into_iter()
                .filter(|found| found.severity != Severity::Note)
                .map(|found| found.code)
                .collect()
        };
        let known: Vec<String> = found();
        let before = picture_of_stores(&world.home());
        let answer = world.rejoin(["move", &old, new, "--agent", agent, "--yes", "--json"]).code_is_one_of(&[0, 3]);
        let done: Move = answer.json();
        if let [left] = done.not_planned.as_slice() {
            assert!(left.reason.len() > 20, "{agent}: {}", left.reason);
            assert_same(&before, &picture_of_stores(&world.home()), agent);
            return;
        }
        assert_eq!((done.failed, done.not_planned.len()), (0, 0), "{agent}");
        assert_eq!(session().launch_path(), Some(new), "{agent}");
        let shown = world.rejoin(["show", &id]).code(0).stdout();
        assert!(shown.contains("the new place"), "{agent}: {shown}");
        let resumed = world.rejoin(["resume", &id, "--print"]).code(0).stdout();
        assert!(resumed.contains("the new place"), "{agent}: {resumed}");
        assert_eq!(found(), known, "{agent}");
        world.rejoin(["undo"]).code(0);
        assert_same(&before, &picture_of_stores(&world.home()), agent);
        assert_eq!(session().launch_path(), Some(old.as_str()), "{agent}");
    });
}

/// An agent's program that waits for a prompt.
struct Waiting(std::process::Child);

impl Waiting {
    fn start(world: &World, agent: &str, home: &Path, args: &[&str]) -> Self {
        let page =
            std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/agents.md")).expect("a page");
        let part = page.split_once(&format!("* **`{agent}` sessions**")).expect("a part of the page").1;
        let starts = part.lines().find_map(|line| line.split_once("starts**: `")).expect("a command").1;
        let program = world.install(starts.split([' ', '`']).next().expect("a program"), "read line");
        let mut command = std::process::Command::new(program);
        command.args(args).env_clear().env("HOME", home).env("PATH", "/usr/bin:/bin");
        Self(command.stdin(std::process::Stdio::piped()).spawn().expect("a running program"))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        self.0.wait().expect("an end");
    }
}

/// Agents whose clients record the session that they have open.
const MARK_USE: [&str; 9] = ["claude", "codex", "copilot", "gptme", "grok", "jido", "omp", "qwen", "vibe"];

#[test]
#[cfg(target_os = "linux")]
fn running_client_protects_session_of_every_agent() {
    agent_rules::hold("a program that has its session open protects it", agent_rules::GUIDE, |agent| {
        let world = World::new();
        let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
        // Leo starts Claude Code.
        if !can_be_read || agent == "leo" || !ordinary::write(agent, &world) {
            return;
        }
        let id = world.rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions().remove(0).id;
        let before = picture_of_stores(&world.home());
        for args in [["--session", &id], ["--resume", &id], ["-r", &id], ["--x", &format!("--resume={id}")]] {
            let client = Waiting::start(&world, agent, &world.home(), &args);
            let stderr = world.rejoin(["delete", &id, "--yes"]).code(7).stderr();
            let expected = format!("it is in use by process {}", client.0.id());
            assert!(stderr.contains(&expected), "{agent} {args:?}: {stderr}");
        }
        if !MARK_USE.contains(&agent) {
            let _client = Waiting::start(&world, agent, &world.home(), &["--continue"]);
            let stderr = world.rejoin(["delete", &id, "--yes"]).code(7).stderr();
            assert!(stderr.contains("it may be in use") && stderr.contains("leaves no mark"), "{agent}: {stderr}");
            world.rejoin(["cleanup", "--agent", agent, "--older-than", "1d", "--allow-all", "--yes"]);
            assert_same(&before, &picture_of_stores(&world.home()), agent);
        }
        let _foreign = Waiting::start(&world, agent, &world.dir("another home"), &["--continue"]);
        let stderr = world.rejoin(["delete", &id, "--yes", "--dry-run"]).stderr();
        assert!(!stderr.contains("in use"), "{agent}: {stderr}");
    });
}

/// Reads every file of the stores.
fn contents(world: &World) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries = walkdir::WalkDir::new(world.home()).into_iter().map(|entry| entry.expect("an entry"));
    let files = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    let own = [".local/state", ".local/share/rejoin"].map(|own| world.home().join(own));
    let files = files.filter(|path| own.iter().all(|own| !path.starts_with(own)));
    files.map(|path| (path.clone(), std::fs::read(&path).expect("a file"))).collect()
}

#[test]
fn every_agents_session_survives_cleanup_undo_and_restore() {
    let mut with_files = 0;
    agent_rules::hold("its session survives cleanup, undo and restore", agent_rules::GUIDE, |agent| {
        let world = World::new();
        let can_be_read = cfg!(feature = "sqlite") || !NEEDS_SQLITE.contains(&agent);
        if !can_be_read || !ordinary::write(agent, &world) {
            return;
        }
        let sessions = || world.rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions();
        let id = sessions().remove(0).id;
        let (before, bytes) = (picture_of_stores(&world.home()), contents(&world));
        let cleaned = world.rejoin(["cleanup", "--agent", agent, "--older-than", "1d", "--allow-all", "--yes"]);
        if sessions().len() == 1 {
            // Sessions in databases, or tied to another agent's session, are kept and named.
            cleaned.code_is_one_of(&[0, 3]);
            assert_eq!(contents(&world), bytes, "{agent}");
            return;
        }
        cleaned.code(0);
        with_files += 1;
        world.rejoin(["undo"]).code(0);
        assert_same(&before, &picture_of_stores(&world.home()), agent);

        world.rejoin(["archive", &id]).code(0);
        world.rejoin(["delete", &id, "--yes"]).code(0);
        world.rejoin(["undo", "--purge", "--every", "--yes"]).code(0);
        assert_ne!(contents(&world), bytes, "{agent}");
        world.rejoin(["restore", &id, "--trust"]).code(0);
        assert_eq!(contents(&world), bytes, "{agent}");
    });
    assert!(with_files >= 18 || !agent_rules::are_all_chosen(), "{with_files}");
}

#[test]
fn recent_torn_record_means_session_may_run() {
    // The sessions of these agents count as idle after a turn, or did.
    for agent in ["droid", "kimi", "kimicode"] {
        let world = World::new();
        assert!(ordinary::write(agent, &world), "{agent}");
        let entries = walkdir::WalkDir::new(world.home()).into_iter().map(|entry| entry.expect("an entry").into_path());
        for path in entries.filter(|path| path.extension().is_some_and(|extension| extension == "jsonl")) {
            let whole = std::fs::read_to_string(&path).expect("a file");
            std::fs::write(&path, whole + "{\"type\":\"mess").expect("a file");
        }
        let now = jiff::Timestamp::now().to_string();
        let listed =
            world.with("REJOIN_NOW", &now).rejoin(["list", "--agent", agent, "--all", "--json"]).code(0).sessions();
        assert_eq!(listed[0].liveness, Liveness::Maybe, "{agent}");
    }
}

#[test]
fn list_shows_every_agent_of_sample_home() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/home");
    let world = World::new();
    let listed = world.rejoin(["--home", home.to_str().expect("a path"), "list", "--all", "--json"]).code(0).stdout();
    let present = names().iter().filter(|agent| home.join(format!(".{agent}")).is_dir());
    for agent in present {
        assert!(listed.contains(&format!("\"agent\":\"{agent}\"")), "{agent} has a store in examples/home");
    }
}

#[test]
fn guide_shows_every_line_of_example_agent() {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/adding-an-agent");
    let mut added: BTreeMap<String, usize> = BTreeMap::new();
    for entry in walkdir::WalkDir::new(example.join("otter")).into_iter().map(|entry| entry.expect("an entry")) {
        if entry.file_type().is_file() {
            let file = entry.path().strip_prefix(&example).expect("a path below");
            let text = std::fs::read_to_string(entry.path()).expect("a file");
            added.insert(format!("src/agent/{}", file.display()), text.lines().count());
        }
    }
    let patch = std::fs::read_to_string(example.join("lines.patch")).expect("a patch");
    let mut elsewhere = 0;
    for part in patch.split("diff --git ").skip(1) {
        let file = part.lines().find_map(|line| line.strip_prefix("+++ b/")).expect("a file");
        let count = |sign| part.lines().skip(3).filter(|line| line.starts_with(sign)).count();
        let text = std::fs::read_to_string(file).expect("a file");
        for hunk in part.split("\n@@ ").skip(1) {
            let context: Vec<&str> = hunk.lines().filter_map(|line| line.strip_prefix(' ')).collect();
            assert!(text.contains(&context.join("\n")), "{file} has other lines: {context:?}");
        }
        assert_eq!(count('-'), 0, "{file} loses lines");
        elsewhere += count('+');
        added.insert(file.to_owned(), count('+'));
    }
    assert!(elsewhere <= 12, "{elsewhere} lines outside of its folder");
    let rows: Vec<String> = added.iter().map(|(file, lines)| format!(" {file:<52} | {lines:>3} +")).collect();
    assert_part("docs/adding-an-agent.md", "otter", &format!("```text\n{}\n```", rows.join("\n")));
}

#[test]
fn benchmark_home_has_sessions_of_every_agent() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let bench = std::fs::read_to_string(root.join("benches/home/others.rs")).expect("a bench");
    let rows = bench.lines().filter_map(|line| line.trim().strip_prefix("(\"")?.split_once('"'));
    let measured: Vec<&str> = rows.map(|(name, _)| name).chain(["claude"]).collect();
    let unknown: Vec<_> = measured.iter().filter(|name| !names().contains(name)).collect();
    assert!(unknown.is_empty(), "benches/home/others.rs names {unknown:?}");
    // Aider and Crush keep their sessions inside projects, and Leo keeps none.
    let is_left_out = |name: &str| {
        ["aider", "crush", "leo"].contains(&name) || root.join("src/agent").join(name).join("sample").is_dir()
    };
    agent_rules::hold("the home of the benches has its sessions", "benches/home/others.rs", |agent| {
        assert!(
            measured.contains(&agent) || is_left_out(agent),
            "add its sessions, or a sample in src/agent/{agent}/sample"
        );
    });
}

#[test]
fn page_names_launch_directory_sources_of_every_agent() {
    let page = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/json.md")).expect("a page");
    let row = page.lines().find(|line| line.starts_with("| `launch_dir` |")).expect("a row");
    let told = |session: &Session| {
        let title = title(&session.agent.to_string());
        let source = format!("`{}`", session.launch_dir.as_ref().map_or("", |dir| &dir.source));
        row.split(';')
            .any(|part| part.rsplit(" for ").next().is_some_and(|of| of.contains(&title)) && part.contains(&source))
    };
    let mut seen: BTreeMap<String, Session> = BTreeMap::new();
    let mut see = |world: &World| {
        for session in world.rejoin(["list", "--all", "--json"]).code(0).sessions() {
            if let Some(dir) = &session.launch_dir {
                seen.insert(format!("{}: {}", session.agent, dir.source), session);
            }
        }
    };
    let everything = World::new();
    crate::sample::fill(&everything);
    see(&everything);
    for (_, folder) in corpora() {
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        see(&world);
    }
    let untold: Vec<_> = seen.iter().filter(|(_, session)| !told(session)).map(|(words, _)| words).collect();
    assert!(seen.len() > 10 && untold.is_empty(), "docs/json.md does not tell of {untold:#?}");
}

/// The commands of the first block of the guide.
fn commands_of_the_guide(root: &Path) -> String {
    let page = std::fs::read_to_string(root.join("docs/adding-an-agent.md")).expect("a page");
    let block = page.split_once("```sh\n").and_then(|(_, rest)| rest.split_once("```")).expect("a block");
    block.0.to_owned()
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
fn example_agent_of_guide_builds_and_lists_session() {
    if !crate::world::tries_every_case() {
        println!("skipped: it builds rejoin once more; REJOIN_FULL=1 runs it");
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let cargo = std::env::var_os("CARGO").filter(|cargo| Path::new(cargo).is_file());
    let has_git = std::process::Command::new("git").arg("--version").output().is_ok();
    let Some(cargo) = cargo.filter(|_| has_git) else {
        println!("skipped: this test builds with cargo and patches with git");
        return;
    };
    let copy = tempfile::tempdir().expect("a directory");
    for entry in std::fs::read_dir(root).expect("the tree").map(|entry| entry.expect("an entry")) {
        if !["target", ".git"].iter().any(|name| entry.file_name() == *name) {
            let to = copy.path().join(entry.file_name());
            if entry.path().is_dir() {
                copy_tree(&entry.path(), &to);
            } else {
                std::fs::copy(entry.path(), to).expect("a copy");
            }
        }
    }
    // A separate target directory for copies of the repository, because both builds use the same file names.
    let target = Path::new(env!("CARGO_BIN_EXE_rejoin")).ancestors().nth(2).expect("a target directory").join("guide");
    let run = std::process::Command::new("sh")
        .arg("-euc")
        .arg(commands_of_the_guide(root).replace("cargo ", "\"$CARGO\" "))
        .current_dir(copy.path())
        .env("CARGO", cargo)
        .env("CARGO_TARGET_DIR", target)
        .env("CARGO_NET_OFFLINE", "true")
        .env("REJOIN_NOW", crate::world::NOW)
        .env_remove("REJOIN_FULL")
        .output()
        .expect("a shell");
    let (answer, stdout) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(run.status.success(), "{answer}{stdout}");
    let listed = "otter\triver-1\twhere does the river end?\t/usr/bin\t2026-02-01T10:01:00Z\t210\t\n";
    assert!(answer.starts_with(listed), "{answer}{stdout}");
}

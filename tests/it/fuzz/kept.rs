//! Damages rejoin's own files: no text of a journal, a manifest or the list of moves makes a command lose data, or
//! makes an archive write outside of sessions.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::{files, mutate};
use crate::fixtures::{Claude, Codex, Pi, age_tree, id, put};
use crate::world::World;
use mutate::Random;

/// A home with archived, deleted and moved sessions, and the files that must exist afterwards.
struct Kept {
    world: World,
    /// All messages, and files that no command was asked to change.
    bytes: Vec<Vec<u8>>,
    /// Files that no command changes.
    others: [PathBuf; 2],
    /// The runs of the deletion and of the move.
    runs: Vec<String>,
}

impl Kept {
    fn new() -> Self {
        let world = World::new();
        let (work, home) = (world.dir("work"), world.home());
        let first = Claude::session(id(1)).in_dir(&work).turn("one", "1").side_file("tool-results/a.txt", "a result");
        let mut sessions = vec![world.add(first)];
        sessions.push(sessions[0].with_extension("").join("tool-results/a.txt"));
        sessions.push(world.add(Claude::session(id(2)).in_dir(&work).turn("two", "2")));
        sessions.push(world.add(Codex::session(id(3)).in_dir(&work).turn("three", "3")));
        let pi = world.add(Pi::session(id(4)).in_dir(&work).turn("four", "4"));
        let others = [home.join(".claude/settings.json"), world.root().join("other/notes")];
        others.iter().for_each(|path| put(path, "{\"mine\": true}"));
        age_tree(&home);
        let bytes = sessions.iter().map(|path| std::fs::read(path).expect("a session")).collect();
        world.rejoin(["archive", &format!("claude:{}", id(1)), &format!("pi:{}", id(4))]).code(0);
        world.rejoin(["delete", &id(1), "--yes"]).code(0);
        // Moved files name their directory, so their bytes change with every move.
        let new = world.dir("new");
        world
            .rejoin([
                OsStr::new("move"),
                work.as_os_str(),
                new.as_os_str(),
                "--agent=codex,pi".as_ref(),
                "--yes".as_ref(),
            ])
            .code(0);
        assert!(!pi.exists(), "it went to the project of the new directory");
        let listed = std::fs::read_dir(home.join(".local/state/rejoin/runs")).expect("runs");
        let mut runs: Vec<String> =
            listed.filter_map(|entry| entry.expect("a run").path().file_stem()?.to_str().map(str::to_owned)).collect();
        runs.sort();
        assert_eq!(runs.len(), 2, "{runs:?}");
        Self { world, bytes, others, runs }
    }

    /// Damages one of rejoin's own files, a manifest or another one, and returns it.
    fn damage(&self, random: &mut Random) -> PathBuf {
        let dirs = [".local/share/rejoin", ".local/state/rejoin"].map(|dir| self.world.home().join(dir));
        let is_text = |path: &PathBuf| path.extension().is_some_and(|end| end == "json" || end == "jsonl");
        let dir = random.one_of(&dirs);
        let own: Vec<PathBuf> =
            files(&self.world).into_iter().filter(|path| path.starts_with(dir) && is_text(path)).collect();
        assert!(own.len() >= 2, "two manifests, or two journals and a list of moves: {own:?}");
        let path = random.one_of(&own).clone();
        let sound = std::fs::read(&path).expect("a file");
        let damaged = match random.below(2) {
            0 => mutate::file(&sound, random),
            _ => self.led_elsewhere(&sound, path.starts_with(&dirs[0]), random),
        };
        std::fs::remove_file(&path).expect("the sound one");
        // A manifest's name contains its digest, which a forger can compute, too.
        let name = path
            .file_name()
            .and_then(OsStr::to_str)
            .and_then(|name| name.split_once('-'))
            .filter(|_| path.starts_with(&dirs[0]));
        let named = name.map(|(number, _)| {
            let digest: String = Sha256::digest(&damaged).iter().map(|byte| format!("{byte:02x}")).collect();
            path.with_file_name(format!("{number}-{digest}.json"))
        });
        let path = named.unwrap_or(path);
        std::fs::write(&path, damaged).expect("a damaged file");
        path
    }

    /// Replaces a path of the session by a foreign one.
    fn led_elsewhere(&self, sound: &[u8], is_manifest: bool, random: &mut Random) -> Vec<u8> {
        let text = String::from_utf8_lossy(sound).into_owned();
        let quotes: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
        // Paths of files in a manifest are relative to their store.
        let is_meant = |word: &str| word.contains('/') && (!is_manifest || !word.starts_with('/'));
        let is_path = |pair: &&[usize]| is_meant(&text[pair[0] + 1..pair[1]]);
        let paths: Vec<&[usize]> = quotes.windows(2).filter(is_path).collect();
        let [settings, notes] = self.others.each_ref().map(|path| path.display().to_string());
        if paths.is_empty() {
            return text.into_bytes();
        }
        let place = random.one_of(&paths);
        let places = if text[place[0] + 1..].starts_with('/') {
            [settings, notes.clone(), format!("{notes}.new"), "/".to_owned()]
        } else {
            ["settings.json", "hooks/new.sh", "projects/../hooks/new.sh", "../new"].map(str::to_owned)
        };
        [&text[..=place[0]], random.one_of::<String>(&places), &text[place[1]..]].concat().into_bytes()
    }

    /// Runs a few commands, and checks the invariants after each.
    fn attempt(&self, random: &mut Random) -> Result<(), String> {
        let damaged = self.damage(random);
        let is_manifest = damaged.starts_with(self.world.home().join(".local/share"));
        let before = files(&self.world);
        let [claude, pi, other] =
            [("claude", 1), ("pi", 4), ("claude", 2)].map(|(agent, n)| format!("{agent}:{}", id(n)));
        let newest = self.runs.last().expect("a run");
        let verbs: &[&[&str]] = if is_manifest {
            &[&["restore", &claude], &["restore", &pi], &["archive", "--every"], &["cleanup", "--archive", "--yes"]]
        } else {
            &[
                &["undo", &self.runs[0]],
                &["undo", newest],
                &["undo", "--yes"],
                &["delete", &other, "--yes"],
                &["doctor", "--fix", "--yes"],
                &["restore", &other],
                &["move", "/gone", "/elsewhere", "--yes"],
            ]
        };
        for _ in 0..3 {
            let verb = *random.one_of::<&[&str]>(verbs);
            let answer = self.world.rejoin(verb);
            let what = |why: &str| {
                format!("{} is damaged, `rejoin {}`: {why}\n{}", damaged.display(), verb.join(" "), answer.stderr())
            };
            if !answer.exit().is_some_and(|code| (0..=8).contains(&code)) {
                return Err(what("it did not end well"));
            }
            let now = files(&self.world);
            let there: BTreeSet<Vec<u8>> = now.iter().filter_map(|path| std::fs::read(path).ok()).collect();
            if let Some(lost) = self.bytes.iter().find(|bytes| !there.contains(*bytes)) {
                return Err(what(&format!("this is nowhere any more: {}", String::from_utf8_lossy(lost))));
            }
            if let Some(path) =
                self.others.iter().find(|path| std::fs::read(path).ok().as_deref() != Some(b"{\"mine\": true}"))
            {
                return Err(what(&format!("{} is not what it was", path.display())));
            }
            if is_manifest && let Some(path) = now.difference(&before).find(|path| !self.may_be(path)) {
                return Err(what(&format!("{} was made", path.display())));
            }
        }
        Ok(())
    }

    /// Returns whether a new file belongs to a session or to rejoin.
    fn may_be(&self, path: &Path) -> bool {
        let places =
            [".claude/projects", ".codex/sessions", ".pi/agent/sessions", ".local/state/rejoin", ".local/share/rejoin"];
        places.iter().any(|place| path.starts_with(self.world.home().join(place)))
    }
}

/// Damages a file in a separate home.
pub(super) fn attempt(seed: u64) -> Result<(), String> {
    Kept::new().attempt(&mut Random::new(seed))
}

//! Data of real clients follows a moved directory, and `undo` restores it byte for byte.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::contract::DoctorReport;
use crate::contract::changes::Move;
use crate::facts::{copy_tree, corpora};
use crate::picture::{Picture, picture};
use crate::undo::assert_same;
use crate::world::{Call, World};

/// Returns a time long after the last of these sessions, so that none of them counts as in use.
fn later(world: &World) -> Call<'_> {
    world.with("REJOIN_NOW", "2027-01-01T00:00:00Z")
}

/// Returns the directory of each session, by its id.
fn dirs(world: &World) -> BTreeMap<String, PathBuf> {
    let sessions = later(world).rejoin(["list", "--all", "--json"]).code(0).sessions();
    // A sub-agent moves with its session, and is not launched.
    let launched = sessions.iter().filter(|session| session.parent_id.is_none());
    launched.filter_map(|session| Some((session.id.clone(), PathBuf::from(session.launch_path()?)))).collect()
}

/// Takes a picture of a home without rejoin's own files.
fn stores(world: &World) -> Picture {
    let mut picture = picture(&world.home());
    let own = [".local/state", ".local/share/rejoin"].map(Path::new);
    // The directories above rejoin's own files get a new time.
    let is_above = |path: &Path| own.iter().any(|own| own.starts_with(path));
    picture.retain(|path, _| !is_above(path) && !own.iter().any(|own| path.starts_with(own)));
    picture
}

#[test]
fn move_and_undo_keep_bytes_of_real_sessions() {
    for (agent, folder) in corpora() {
        let world = World::new();
        copy_tree(&folder.join("home"), &world.home());
        let (before, was) = (stores(&world), dirs(&world));
        let mut counts: BTreeMap<&Path, usize> = BTreeMap::new();
        was.values().for_each(|dir| *counts.entry(dir).or_default() += 1);
        let Some((old, _)) = counts.into_iter().max_by_key(|(_, count)| *count) else { continue };
        let (old, new) = (old.to_owned(), world.dir("moved place"));
        let args = [Path::new("move"), &old, &new, Path::new("--yes"), Path::new("--json")];
        let done: Move = later(&world).rejoin(args).code_is_one_of(&[0, 3]).json();
        assert_eq!(done.failed, 0, "{agent}");
        // Kilo would continue in the directory in its database, and between copies in two directories the user must
        // first choose: these sessions are not moved, and the answer names the remedy.
        let stays = |id: &str| done.not_planned.iter().any(|left| left.about.ends_with(id));
        for left in &done.not_planned {
            assert!(left.reason.contains("kilo import") || left.reason.contains("--copy 2"), "{agent}: {left:?}");
        }
        let is = dirs(&world);
        assert_eq!(is.len(), was.len(), "{agent}: no session comes or goes");
        let mut followed = 0;
        for (id, dir) in &was {
            let expected = match dir.strip_prefix(&old) {
                Ok(below) if !stays(id) => {
                    followed += 1;
                    new.join(below)
                }
                _ => dir.clone(),
            };
            assert_eq!(is[id], expected, "{agent}: {id}");
        }
        assert_eq!(followed == 0, agent == "kilo", "{agent}");
        let report: DoctorReport = later(&world).rejoin(["doctor", "--json"]).json();
        let old_text = old.to_str().expect("a path in UTF-8");
        let of_old = report.findings.iter().filter(|finding| finding.code == "missing-directory");
        let of_old: Vec<_> = of_old.filter(|finding| finding.paths.iter().any(|path| path.path == old_text)).collect();
        assert!(!done.not_planned.is_empty() || of_old.is_empty(), "{agent}: {of_old:?}");
        if followed > 0 {
            later(&world).rejoin(["undo"]).code(0);
        }
        assert_same(&before, &stores(&world), agent);
        assert_eq!(dirs(&world), was, "{agent}");
    }
}

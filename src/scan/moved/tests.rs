//! Tests of the search for replacements of a missing directory.

use super::*;
use crate::scan::git::remote_of;
use crate::session::AgentKind;
use crate::session::repository::Repository;
use crate::system::env::tests::fixed;

fn records(repository: &Repository) -> DirRecords {
    DirRecords { repository: repository.clone(), ..DirRecords::default() }
}

#[test]
fn deleted_worktree_suggests_its_main_checkout() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    let (repository, worktree) = (root.join("repo"), root.join("trees/feature"));
    std::fs::create_dir_all(repository.join(".git/worktrees/feature")).expect("a directory");
    std::fs::create_dir_all(root.join("trees")).expect("a directory");
    std::fs::create_dir_all(repository.join("src")).expect("a directory");
    let gitdir = format!("{}\n", worktree.join(".git").display());
    std::fs::write(repository.join(".git/worktrees/feature/gitdir"), gitdir).expect("a file");

    let known = Checkouts::find_near(&mut [repository.join("src")].iter().map(PathBuf::as_path), Path::new("/no/home"));
    let dirs = |gone: &Path| -> Vec<PathBuf> {
        known.instead_of(gone, &DirRecords::default()).into_iter().map(|found| found.dir).collect()
    };
    assert_eq!(dirs(&worktree.join("deep")), [repository.clone(), root.join("trees")]);
    assert_eq!(dirs(&repository.join("src/old/x")), [repository.clone(), repository.join("src")]);
    assert_eq!(dirs(Path::new("/no/such/place")), Vec::<PathBuf>::new());
}

#[test]
fn search_finds_moved_directory_nearby_or_among_known() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    for made in ["work/archive/app/src", "work/archive/.hidden/app/src", "work/a/b/c/d/app/src", "else/app/src"] {
        std::fs::create_dir_all(root.join(made)).expect("a directory");
    }
    let known = root.join("else/app/src");
    let checkouts = Checkouts::find_near(&mut [known.as_path()].into_iter(), Path::new("/no/home"));
    let found = checkouts.instead_of(&root.join("work/app/src"), &DirRecords::default());
    let dirs: Vec<&Path> = found.iter().map(|found| found.dir.as_path()).collect();
    let work = root.join("work");
    assert_eq!(dirs, [&known, &root.join("work/archive/app/src"), &work]);
    let nothing: Vec<PathBuf> = checkouts
        .instead_of(&root.join("work/other"), &DirRecords::default())
        .into_iter()
        .map(|found| found.dir)
        .collect();
    assert_eq!(nothing, [work]);
}

#[test]
fn remote_identifies_moved_checkout() {
    let dir = tempfile::tempdir().expect("a directory");
    let (moved, other) = (dir.path().join("moved"), dir.path().join("other"));
    for (repository, url) in [(&moved, "git@host:ana/app.git"), (&other, "git@host:ana/tool.git")] {
        std::fs::create_dir_all(repository.join(".git")).expect("a directory");
        let config =
            format!("[core]\n\tbare = false\n[remote \"up\"]\n\turl = x\n[remote \"origin\"]\n\turl = {url}\n");
        std::fs::write(repository.join(".git/config"), config).expect("a file");
    }
    assert_eq!(remote_of(&moved).as_deref(), Some("git@host:ana/app.git"));
    let known = Checkouts::find_near(&mut [moved.as_path(), &other].into_iter(), Path::new("/no/home"));
    let had = Repository::new(Some("git@host:ana/app.git".to_owned()));
    let found = known.instead_of(Path::new("/no/such/place"), &records(&had));
    assert_eq!(found, [Instead { dir: moved, why: MoveClue::Remote }]);
}

#[test]
fn commit_identifies_renamed_checkout() {
    let dir = tempfile::tempdir().expect("a directory");
    let commit = "ab".repeat(20);
    let (gone, renamed, other) = (dir.path().join("app"), dir.path().join("tool"), dir.path().join("other"));
    std::fs::create_dir_all(other.join(".git")).expect("a directory");
    std::fs::create_dir_all(renamed.join(".git/objects/ab")).expect("a directory");
    std::fs::write(renamed.join(".git/objects/ab").join("ab".repeat(19)), "").expect("a file");
    let mut had = Repository::default();
    let known = Checkouts::find_near(&mut [other.as_path()].into_iter(), Path::new("/no/home"));
    assert_eq!(best(&known.instead_of(&gone, &records(&had)), &gone), None);
    had.add_commit(&commit);
    assert_eq!(best(&known.instead_of(&gone, &records(&had)), &gone), Some(renamed));
}

#[test]
fn two_clones_are_ambiguous_without_the_same_name() {
    let instead = |dir: &str, why| Instead { dir: dir.into(), why };
    let dir = tempfile::tempdir().expect("a directory");
    let gone = &dir.path().join("app");
    let mut found =
        vec![instead("/x/a", MoveClue::Remote), instead("/x/b", MoveClue::Remote), instead("/y/app", MoveClue::Named)];
    assert_eq!(best(&found, gone), None);
    found.push(instead("/z/app", MoveClue::Remote));
    assert_eq!(best(&found, gone).as_deref(), Some(Path::new("/z/app")));
    found.push(instead("/x/c", MoveClue::Commit));
    assert_eq!(best(&found, gone).as_deref(), Some(Path::new("/x/c")));
    // The old directory may have been inside the one that is named c now.
    assert_eq!(best(&found, &dir.path().join("x/app")), None);
}

#[test]
fn fork_is_not_a_candidate() {
    let dir = tempfile::tempdir().expect("a directory");
    let (fork, own) = (dir.path().join("fork"), dir.path().join("moved"));
    for (checkout, url) in [(&fork, "up/x"), (&own, "me/x")] {
        std::fs::create_dir_all(checkout.join(".git/objects/ab")).expect("a directory");
        std::fs::write(checkout.join(".git/config"), format!("[remote \"origin\"]\nurl = {url}\n")).expect("a file");
    }
    std::fs::create_dir_all(own.join("packages/api")).expect("a directory");
    std::fs::write(fork.join(".git/objects/ab").join("ab".repeat(19)), "").expect("a file");
    let mut had = Repository::new(Some("me/x".to_owned()));
    had.add_commit(&"ab".repeat(20));
    had.add_root(&"ab".repeat(20));
    let known = Checkouts::find_near(&mut [fork.as_path(), &own].into_iter(), Path::new("/no/home"));
    let gone = dir.path().join("old/packages/api");
    let found = known.instead_of(&gone, &records(&had));
    assert_eq!(found[0], Instead { dir: own.join("packages/api"), why: MoveClue::Remote });
    assert!(found.iter().all(|instead| instead.dir != fork), "{found:?}");
    assert_eq!(best(&found, &gone), Some(own.join("packages/api")));
    let gone = dir.path().join("old");
    assert_eq!(best(&known.instead_of(&gone, &records(&had)), &gone), Some(own));
}

#[test]
fn search_finds_moved_directory_below_home() {
    let dir = tempfile::tempdir().expect("a directory");
    let home = dir.path();
    for made in ["work", "code/plain", "a/b/c/plain"] {
        std::fs::create_dir_all(home.join(made)).expect("a directory");
    }
    let found = |home: &Path| {
        let checkouts = Checkouts::find_near(&mut std::iter::empty(), home);
        checkouts.instead_of(&dir.path().join("work/plain"), &DirRecords::default())
    };
    let at_home = Instead { dir: home.join("code/plain"), why: MoveClue::NamedAtHome };
    assert_eq!(found(home)[0], at_home, "three levels deep, and no deeper");
    assert_eq!(best(&found(home), &home.join("work/plain")), Some(at_home.dir.clone()));
    assert!(!found(Path::new("/no/home")).contains(&at_home));
}

#[test]
fn directory_name_alone_gives_only_candidates() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path();
    let (home, disk) = (root.join("home"), root.join("disk/work"));
    for made in ["home/code/shop", "home/x/y/Shop", "home/a/b/c/shop", "home/code/other", "disk/work/deep/shop"] {
        std::fs::create_dir_all(root.join(made)).expect("a directory");
    }
    let checkouts = Checkouts::find_near(&mut [disk.as_path(), &home.join("code/shop")].into_iter(), &home);
    let found = |gone: &str| checkouts.instead_of(Path::new(gone), &DirRecords::default());
    let instead = |dir: PathBuf, why| Instead { dir, why };
    let shop = instead(home.join("code/shop"), MoveClue::AlikeAndKnown);
    let deep = instead(disk.join("deep/shop"), MoveClue::Alike);
    let capital = instead(home.join("x/y/Shop"), MoveClue::Alike);
    // A container, a home of another machine, another spelling, and a worktree of an app.
    assert_eq!(found("/workspaces/shop"), [shop.clone(), deep.clone(), capital.clone()]);
    assert_eq!(found("/Users/ana/code/shop")[0], shop, "two names are the same");
    assert_eq!(found("/old/X/Y/shop")[0], capital);
    assert_eq!(found("/workspace"), []);
    assert_eq!(best(&found("/workspaces/shop"), Path::new("/workspaces/shop")), None);
    let worktree = home.join(".codex/worktrees/1a2b/shop");
    let found = checkouts.instead_of(&worktree, &DirRecords::default());
    assert!([shop, deep].iter().all(|instead| found.iter().any(|found| found.dir == instead.dir)), "{found:?}");
}

#[test]
fn candidate_with_recorded_branch_leads_without_being_best() {
    let dir = tempfile::tempdir().expect("a directory");
    let home = dir.path().join("home");
    for (made, packed) in [
        ("a/shop/.git/refs/heads/fix", ""),
        ("b/shop/.git", "00 refs/heads/fix/login\n"),
        ("c/shop/.git", "00 refs/heads/main\n"),
    ] {
        std::fs::create_dir_all(home.join(made)).expect("a directory");
        let (repository, _) = made.split_once("/.git").expect("a repository");
        std::fs::write(home.join(repository).join(".git/packed-refs"), packed).expect("a file");
    }
    std::fs::write(home.join("a/shop/.git/refs/heads/fix/login"), "").expect("a file");
    let gone = Path::new("/workspaces/shop");
    let checkouts = Checkouts::find_near(&mut [home.join("c/shop").as_path()].into_iter(), &home);
    let found = |branch: &str| {
        let mut had = Repository::default();
        had.add_branch(branch);
        checkouts.instead_of(gone, &records(&had))
    };
    let whys = |found: &[Instead]| -> Vec<(PathBuf, MoveClue)> {
        found
            .iter()
            .map(|instead| (instead.dir.strip_prefix(&home).expect("a path below").to_owned(), instead.why))
            .collect()
    };
    let named = |dir: &str, why| (PathBuf::from(dir), why);
    assert_eq!(
        whys(&found("fix/login")),
        [
            named("a/shop", MoveClue::AlikeWithBranch),
            named("b/shop", MoveClue::AlikeWithBranch),
            named("c/shop", MoveClue::AlikeAndKnown)
        ]
    );
    for common in ["main", "no-such", "../../../c/shop/.git"] {
        assert_eq!(whys(&found(common))[0], named("c/shop", MoveClue::AlikeAndKnown), "{common}");
    }
    assert_eq!(best(&found("fix/login"), gone), None);
}

#[test]
fn candidate_with_the_recorded_commit_is_first() {
    let dir = tempfile::tempdir().expect("a directory");
    let home = dir.path().join("home");
    for made in ["a/shop/.git/objects/ab", "b/shop"] {
        std::fs::create_dir_all(home.join(made)).expect("a directory");
    }
    std::fs::write(home.join("a/shop/.git/objects/ab").join("ab".repeat(19)), "").expect("a file");
    let mut had = Repository::default();
    had.add_commit(&"ab".repeat(20));
    let checkouts = Checkouts::find_near(&mut [home.join("b/shop").as_path()].into_iter(), &home);
    let found = checkouts.instead_of(Path::new("/workspaces/shop"), &records(&had));
    let whys: Vec<MoveClue> = found.iter().map(|instead| instead.why).collect();
    assert_eq!((&found[0].dir, whys), (&home.join("a/shop"), vec![MoveClue::Commit, MoveClue::AlikeAndKnown]));
}

#[test]
fn directory_of_project_is_candidate_and_objection() {
    let dir = tempfile::tempdir().expect("a directory");
    let root = dir.path().canonicalize().expect("a path");
    for made in ["hand/b", "caller/b", "archive/a", "hand/c"] {
        std::fs::create_dir_all(root.join(made)).expect("a directory");
    }
    let gone = root.join("hand/a");
    let found = |of: &str| {
        let project = root.join(of).to_str().expect("a path").replace(|c: char| !c.is_ascii_alphanumeric(), "-");
        let projects = [(AgentKind::Claude, project.into())].into();
        let checkouts =
            Checkouts::find_near(&mut [root.join("archive/a").as_path()].into_iter(), Path::new("/no/home"));
        let mut env = fixed();
        env.cwd = Some(root.join("caller/b"));
        let records = DirRecords { projects, ..DirRecords::default() };
        checkouts.with_caller(&env).instead_of(&gone, &records)
    };
    let project = |of: &str| Instead { dir: root.join(of), why: MoveClue::Project };
    for of in ["hand/b", "caller/b", "hand"] {
        assert_eq!(found(of)[0], project(of));
        // A directory of the same name contradicts that.
        assert!(found(of).contains(&Instead { dir: root.join("archive/a"), why: MoveClue::NamedAndKnown }));
        assert_eq!(best(&found(of), &gone), None, "{of}");
    }
    assert_eq!(found("gone")[0].why, MoveClue::NamedAndKnown);
    assert_eq!(best(&found("gone"), &gone), Some(root.join("archive/a")));
}

#[test]
fn remote_identifies_unknown_checkout_in_home() {
    let home = tempfile::tempdir().expect("a directory");
    let moved = home.path().join("code/shop-main");
    std::fs::create_dir_all(moved.join(".git")).expect("a directory");
    std::fs::create_dir_all(home.path().join(".codex")).expect("a directory");
    std::fs::write(moved.join(".git/config"), "[remote \"origin\"]\nurl = me/shop\n").expect("a file");
    let had = records(&Repository::new(Some("me/shop".to_owned())));
    let gone = home.path().join(".codex/worktrees/ab12/shop");
    let found = Checkouts::find_near(&mut std::iter::empty(), home.path()).instead_of(&gone, &had);
    assert_eq!(found[0], Instead { dir: moved, why: MoveClue::Remote });
    assert_eq!(best(&found, &gone), None, "its name is another one");
}

//! `resume --recreate-worktree`, with the real git.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::contract;
use crate::fixtures::{Claude, id};
use crate::terminal::Seat;
use crate::world::{Answer, World, start_of};

/// A repository with a worktree on a separate branch, in which a session worked.
struct Trees {
    world: World,
    repository: PathBuf,
    worktree: PathBuf,
}

impl Trees {
    /// Creates the repository, and a worktree below a directory for worktrees; `None` if git is not installed.
    fn new(among: &str) -> Option<Self> {
        let trees = Self::of("repo", among)?;
        trees.world.add(Claude::session(id(2)).in_dir(&trees.repository).branch("main").turn("look around", "Done."));
        Some(trees)
    }

    /// Creates the repository in a directory in which no session worked.
    #[expect(clippy::disallowed_macros, reason = "whoever runs the tests should know that this one did nothing")]
    fn of(repository: &str, among: &str) -> Option<Self> {
        if Command::new("git").arg("--version").output().is_err() {
            println!("skipped: git is not installed");
            return None;
        }
        let world = World::with_agents();
        let repository = world.dir(repository);
        let worktree = world.root().join(among).join("feature");
        let trees = Self { world, repository, worktree };
        trees.git(&["init", "--quiet", "--initial-branch", "main"]);
        std::fs::write(trees.repository.join("README"), "one\n").expect("a file");
        trees.git(&["add", "README"]);
        trees.git(&["commit", "--quiet", "--message", "One"]);
        trees.git(&["worktree", "add", "--quiet", "-b", "feature", trees.worktree.to_str().expect("a path")]);
        trees.world.add(Claude::session(id(1)).in_dir(&trees.worktree).branch("feature").turn("add a test", "Added."));
        Some(trees)
    }

    #[track_caller]
    fn git(&self, args: &[&str]) {
        let names = ["-c", "user.name=Ana", "-c", "user.email=ana@example.com", "-c", "commit.gpgSign=false"];
        self.world.from(&self.repository).run("git", names.iter().chain(args)).code(0);
    }

    /// Creates a program that records its runs, and passes its input through.
    fn noting(&self, name: &str) -> String {
        let ran = self.ran(name);
        let script = format!("touch '{}'\ncat", ran.display());
        self.world.install(name, &script).display().to_string()
    }

    fn ran(&self, name: &str) -> PathBuf {
        self.world.root().join(format!("{name}-ran"))
    }

    fn resume(&self, args: &[&str]) -> Answer {
        self.world.rejoin(["resume", &id(1)].iter().chain(args))
    }

    fn head(&self) -> String {
        let dir: &Path = &self.worktree;
        let head = self.world.from(dir).run("git", ["symbolic-ref", "--short", "HEAD"]).code(0).stdout();
        head.trim().to_owned()
    }
}

#[test]
fn resume_recreates_deleted_worktree_on_its_branch() {
    let Some(trees) = Trees::new("trees") else { return };
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    let refused = trees.resume(&[]).code(7).stderr();
    assert!(refused.contains("--recreate-worktree`  (makes the git worktree again on branch feature of"), "{refused}");
    let doctor = trees.world.rejoin(["doctor", "--all-findings"]).code(4).stdout();
    assert!(doctor.contains(&format!("rejoin resume claude:{} --recreate-worktree", id(1))), "{doctor}");

    let line = trees.resume(&["--recreate-worktree", "--print"]).code(0).stdout();
    let (repository, worktree) = (trees.repository.display(), trees.worktree.display());
    let git = format!(
        "git -C {repository} -c core.hooksPath=/dev/null -c core.fsmonitor=false -c submodule.recurse=false worktree add \
         --force -- {worktree} feature && cd {worktree} && "
    );
    assert!(line.starts_with(&git), "{line}");
    let plan: contract::ResumePlan = trees.resume(&["--recreate-worktree", "--json"]).code(0).json();
    assert_eq!(plan.worktree.expect("a worktree").branch.as_deref(), Some("feature"));
    assert!(plan.refusals.is_empty() && !trees.worktree.exists());
    // Without a terminal, git must not be asked, so nothing is created.
    let unasked = trees.resume(&["--recreate-worktree"]).code(2).stderr();
    assert!(unasked.contains("--recreate-worktree --yes"), "{unasked}");
    assert!(!trees.worktree.exists());

    trees.resume(&["--recreate-worktree", "--yes"]).code(0);
    let launch = trees.world.launched().expect("a launch");
    assert_eq!((launch.cwd, trees.head().as_str()), (trees.worktree.clone(), "feature"));
    assert_eq!(std::fs::read_to_string(trees.worktree.join("README")).expect("a file"), "one\n");
    // The worktree exists now, so there is nothing to create.
    trees.resume(&["--recreate-worktree"]).code(0);
}

#[test]
fn resume_recreates_worktree_outside_of_repository_without_sessions() {
    let Some(trees) = Trees::of("home/work/repo", "home/.codex/worktrees/1a2b") else { return };
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    let refused = trees.resume(&[]).code(7).stderr();
    assert!(refused.contains("--recreate-worktree`  (makes the git worktree again on branch feature of"), "{refused}");
    trees.resume(&["--recreate-worktree", "--yes"]).code(0);
    assert_eq!(trees.head(), "feature");
}

#[test]
fn recreate_overrides_only_lock_of_ended_client() {
    let Some(trees) = Trees::new("trees") else { return };
    let worktree = trees.worktree.to_str().expect("a path");
    std::fs::remove_dir_all(worktree).expect("a directory to remove");
    let lock = |why: &str| trees.git(&["worktree", "lock", "--reason", why, worktree]);
    let own = std::process::id();
    for why in ["on a disk that is not mounted", &format!("claude session feature (pid {own} start {})", start_of(own))]
    {
        lock(why);
        let refused = trees.resume(&["--recreate-worktree", "--yes"]).code(7).stderr();
        assert!(refused.contains(&format!("is locked in git: {why}")), "{refused}");
        trees.git(&["worktree", "unlock", worktree]);
    }
    // The client leaves its lock.
    lock("claude session feature (pid 4000000 start 1)");
    trees.resume(&["--recreate-worktree", "--yes"]).code(0);
    assert_eq!(trees.head(), "feature");
}

#[test]
fn printed_command_creates_and_enters_worktree() {
    let Some(trees) = Trees::new("it's a $(tree)") else { return };
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    let line = trees.resume(&["--recreate-worktree", "--print"]).code(0).stdout();
    trees.world.from(trees.world.root()).run("sh", ["-ec", &line]).code(0);
    assert_eq!(trees.world.launched().expect("a launch").cwd, trees.worktree);
}

#[test]
fn recreate_worktree_asks_for_confirmation() {
    let Some(trees) = Trees::new("trees") else { return };
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    let mut command = trees.world.from(trees.world.root()).command(env!("CARGO_BIN_EXE_rejoin"));
    command.args(["resume", &id(1), "--recreate-worktree"]);
    let mut seat = Seat::run(&command, 100, 24);
    seat.sees("on branch feature. Its hooks are not run.");
    seat.types("n\r");
    let (status, screen) = seat.ends();
    assert_eq!(status, Some(1), "{screen}");
    assert!(screen.contains("Nothing was changed.") && !trees.worktree.exists(), "{screen}");
}

#[test]
fn resume_recreates_worktree_unknown_to_git() {
    let Some(trees) = Trees::new("repo/.claude/worktrees") else { return };
    trees.git(&["worktree", "remove", trees.worktree.to_str().expect("a path")]);
    std::fs::create_dir_all(trees.worktree.parent().expect("a parent")).expect("a directory");
    trees.resume(&["--recreate-worktree", "--yes"]).code(0);
    assert_eq!(trees.head(), "feature");
}

#[test]
fn recreate_refuses_directory_outside_worktrees() {
    let Some(trees) = Trees::new("trees") else { return };
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    trees.git(&["checkout", "--quiet", "--ignore-other-worktrees", "feature"]);
    let taken = trees.resume(&["--recreate-worktree", "--yes"]).code(7).stderr();
    let holder = format!("is checked out in {}", trees.repository.display());
    assert!(taken.contains(&holder), "{taken}");
    trees.git(&["checkout", "--quiet", "main"]);
    std::fs::remove_file(trees.repository.join(".git/refs/heads/feature")).expect("a branch");
    let branchless = trees.resume(&["--recreate-worktree", "--yes"]).code(7).stderr();
    assert!(branchless.contains("no longer exists"), "{branchless}");
    trees.git(&["worktree", "prune"]);
    let forgotten = trees.resume(&["--recreate-worktree", "--yes"]).code(7).stderr();
    assert!(forgotten.contains("no repository that rejoin knows has, or had, a worktree in"), "{forgotten}");
    assert!(!trees.worktree.exists() && trees.world.launched().is_none());
}

#[test]
fn git_hooks_run_only_on_trust() {
    let Some(trees) = Trees::new("trees") else { return };
    let hooks = trees.world.dir("hooks");
    for hook in ["post-checkout", "post-index-change", "reference-transaction"] {
        std::os::unix::fs::symlink(trees.noting(hook), hooks.join(hook)).expect("a hook");
    }
    trees.git(&["config", "core.hooksPath", hooks.to_str().expect("a path")]);
    trees.git(&["config", "core.fsmonitor", &trees.noting("monitor")]);
    let ran = ["post-checkout", "post-index-change", "reference-transaction", "monitor"].map(|name| trees.ran(name));
    let any_ran = || ran.iter().any(|ran| ran.exists());
    let forget = || {
        std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
        ran.iter().for_each(|ran| _ = std::fs::remove_file(ran));
    };
    forget();

    trees.resume(&["--recreate-worktree", "--yes"]).code(0);
    assert!(trees.worktree.join("README").exists() && !any_ran());
    forget();
    let line = trees.resume(&["--recreate-worktree", "--print"]).code(0).stdout();
    trees.world.from(trees.world.root()).run("sh", ["-ec", &line]).code(0);
    assert!(trees.worktree.join("README").exists() && !any_ran());
    forget();
    trees.resume(&["--recreate-worktree", "--yes", "--trust"]).code(0);
    assert!(trees.ran("post-checkout").exists() && trees.ran("monitor").exists());
}

#[test]
fn git_filters_of_repository_run_only_on_trust() {
    let Some(trees) = Trees::new("trees") else { return };
    std::fs::write(trees.repository.join(".git/info/attributes"), "* filter=mine\n").expect("a file");
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    let smudge = trees.noting("smudge");
    // Filters in the user's own config, such as git-lfs, are trusted.
    trees.git(&["config", "--global", "filter.mine.smudge", &smudge]);
    trees.resume(&["--recreate-worktree", "--yes"]).code(0);
    assert!(trees.ran("smudge").exists());
    trees.git(&["config", "--global", "--unset", "filter.mine.smudge"]);
    std::fs::remove_file(trees.ran("smudge")).expect("a file");
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");

    // An include that applies only in the worktree cannot be examined.
    let included = trees.world.root().join("included");
    std::fs::write(&included, format!("[filter \"mine\"]\nsmudge = {smudge}\n")).expect("a file");
    for (key, value) in [
        ("filter.mine.smudge", smudge.as_str()),
        ("includeIf.onbranch:feature.path", included.to_str().expect("a path")),
    ] {
        trees.git(&["config", key, value]);
        for how in ["--yes", "--print"] {
            let refused = trees.resume(&["--recreate-worktree", how]).code(7).stderr();
            let listed = key.replace("includeIf", "includeif");
            assert!(refused.contains(&format!("{} has {listed}", trees.repository.display())), "{refused}");
            assert!(refused.contains(&format!("--recreate-worktree {how} --trust`")), "{refused}");
        }
        assert!(!trees.worktree.exists() && !trees.ran("smudge").exists());
        trees.resume(&["--recreate-worktree", "--yes", "--trust"]).code(0);
        assert!(trees.ran("smudge").exists());
        trees.git(&["config", "--unset", key]);
        std::fs::remove_file(trees.ran("smudge")).expect("a file");
        std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    }
}

#[test]
fn recreate_refuses_git_config_with_programs() {
    let Some(trees) = Trees::new("trees") else { return };
    std::fs::remove_dir_all(&trees.worktree).expect("a directory to remove");
    for key in [
        "filter.a b.process",
        "hook.mine.command",
        "includeif.gitdir:**/worktrees/**.path",
        "remote.origin.promisor",
        "extensions.partialclone",
        "core.sshcommand",
        "credential.https://example.com.helper",
        "lfs.customtransfer.mine.path",
    ] {
        trees.git(&["config", key, "true"]);
        let refused = trees.resume(&["--recreate-worktree", "--yes"]).code(7).stderr();
        assert!(refused.contains(&format!("has {key}, by which git may run a program")), "{refused}");
        trees.git(&["config", "--unset", key]);
    }
    assert!(!trees.worktree.exists());
    trees.resume(&["--recreate-worktree", "--yes"]).code(0);
}

#[test]
fn moved_worktree_is_first_candidate() {
    for among in ["repo/.claude/worktrees", "trees"] {
        let Some(trees) = Trees::new(among) else { return };
        let new = trees.world.root().join(among).join("lamp");
        let [old, new_text] = [&trees.worktree, &new].map(|dir| dir.to_str().expect("a path").to_owned());
        trees.git(&["worktree", "move", &old, &new_text]);
        let refused = trees.resume(&[]).code(7).stderr();
        let first = refused.lines().nth(2).expect("a candidate");
        assert!(
            first.contains(&format!(" --in {new_text}`")) && first.contains("a git worktree on a branch"),
            "{refused}"
        );
        assert!(refused.contains(&format!("`rejoin move {old} {new_text}`")), "{refused}");
        let detected = trees.world.rejoin(["move", "--detect"]).code(0).stdout();
        assert!(
            detected.contains(&format!("# \"{old}\" -> \"NEW_DIR\"  # 1 session; {new_text}: a git")),
            "{detected}"
        );
        let note = trees.world.from(&new).rejoin(["resume", "."]).code(5).stderr();
        assert!(note.contains(&format!("`rejoin move {old} {new_text}`")), "{note}");
        // Another branch is not evidence.
        trees.world.from(&new).run("git", ["switch", "--quiet", "-c", "other"]).code(0);
        let refused = trees.resume(&[]).code(7).stderr();
        assert!(!refused.contains(&new_text), "{refused}");
    }
}

#[test]
fn resume_warns_of_directory_that_lost_its_worktree() {
    let Some(trees) = Trees::new("repo/.claude/worktrees") else { return };
    let git_file = trees.worktree.join(".git");
    let [dir, repo] = [&trees.worktree, &trees.repository].map(|dir| dir.display().to_string());
    let warned = || {
        let warning = trees.resume(&["--print"]).code(0).stderr();
        let begin = format!("{dir} is not a git worktree: git there acts on {repo} (branch main), while the session");
        assert!(warning.contains(&begin), "{warning}");
        warning
    };
    let run = |line: &str| {
        let mut words = line.split(' ');
        let program = words.next().expect("a program");
        trees.world.from(trees.world.root()).run(program, words).code(0);
        assert_eq!(trees.head(), "feature");
        assert_eq!(trees.resume(&["--print"]).code(0).stderr(), "");
    };
    assert_eq!(trees.resume(&["--print"]).code(0).stderr(), "");
    std::fs::remove_file(&git_file).expect("a file to remove");
    let repair = format!("git -C {repo} worktree repair");
    assert!(warned().contains(&format!("`{repair}` connects it again")));
    run(&repair);

    // git lists it no more: its files are in the way, or it is empty.
    std::fs::remove_file(&git_file).expect("a file to remove");
    trees.git(&["worktree", "prune"]);
    let recreate = format!("`rejoin resume claude:{} --recreate-worktree` makes it one", id(1));
    assert!(warned().contains(&format!("; move it away, and {recreate}")));
    std::fs::remove_file(trees.worktree.join("README")).expect("a file to remove");
    let add = format!("git -C {repo} worktree add {dir} feature");
    assert!(warned().contains(&format!("`{add}` makes it one")));
    run(&add);

    // Without the branch, git cannot make it again.
    trees.git(&["worktree", "remove", &dir]);
    trees.git(&["branch", "--quiet", "-D", "feature"]);
    std::fs::create_dir(&trees.worktree).expect("a directory");
    assert!(!warned().contains("; "));
    // In the repository itself, another branch is usual.
    let other = Claude::session(id(3)).in_dir(trees.repository.join("src/worktrees/x")).branch("feature");
    std::fs::create_dir_all(trees.repository.join("src/worktrees/x")).expect("a directory");
    trees.world.add(other.turn("x", "y"));
    for n in [2, 3] {
        assert_eq!(trees.world.rejoin(["resume", &id(n), "--print"]).code(0).stderr(), "");
    }
}

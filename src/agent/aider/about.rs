//! The description of Aider in docs/agents.md.

use crate::agent::prelude::*;

pub(crate) const ABOUT: About = About {
    title: "Aider",
    sessions: "`.aider.chat.history.md` at the root of each project, one for all that was ever said there; found in the directories \
        in which sessions of any agent worked, in the current one, and in that of `--dir`; its path is its id. What does not lie at \
        the root of a git work tree, or is tracked by it, is marked `planted`",
    launch_dir: "the directory of the file",
    elsewhere: "in a subdirectory of the repository it takes the same file; anywhere else another one",
    starts: "`aider --restore-chat-history` in the file's directory, with `--message TEXT` for one prompt; all of the file comes before \
        it",
    in_use: "it keeps no lock: a change of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing; `cleanup` never takes a history, because it is in the project, and `delete` takes it when it is named",
    facts: "measured on 0.86.2; files that `--chat-history-file` puts elsewhere are not found",
    root: ".aider",
    needs_own_dir: true,
    keeps_in_projects: true,
    changes_outside: &[super::HISTORY, super::INPUTS],
    decide: |copy| {
        evidence::decide(copy, |_| true);
        // The directory of the start inside the project is not recorded.
        copy.start_dir = None;
    },
    is_anywhere: true,
    // No `new_session`: Aider offers to add the files and addresses that a prompt mentions, and a briefing quotes
    // others.
    ..About::NONE
};

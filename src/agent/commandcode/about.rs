//! The rows about Command Code in docs/agents.md.

use crate::agent::about::About;

pub(crate) const ABOUT: About = About {
    title: "Command Code",
    sessions: "`~/.commandcode/projects/<project>/<id>.jsonl`, with `<id>.meta.json` and other files of the same name next to it",
    launch_dir: "that of the file's header; its project is named after letters and digits alone, so different directories share projects",
    elsewhere: "it looks only in the project of the current directory: \"No session named … found\"",
    starts: "`command-code --resume ID`, with `-p TEXT` for one prompt",
    in_use: "it keeps no lock: a record of the last two minutes means maybe",
    deletes: "nothing",
    writes: "nothing, but `move` puts the new directory into the header and the files into that directory's project, unless the \
        directory has characters beyond ASCII, `&` or `'`",
    facts: "read in the package `command-code` 1.64.0, which does not start without a dependency that could not be had; the names of \
        projects measured with its dependency @sindresorhus/slugify",
    is_state: |name| name.ends_with("meta.json"),
    ..About::NONE
};

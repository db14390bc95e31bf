//! `--host` over real ssh: three hosts as network namespaces of this machine, each with a separate sshd and home.
//!
//! This needs root, OpenSSH's server, `ip`, `unshare`, `nsenter` and `script`; without them it prints that it was
//! skipped.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::contract;
use crate::fixtures::{Claude, Codex, Fixture, Gemini, Pi, age_tree, id};
use crate::world::{Answer, World};

/// A directory that exists on every machine.
const APP: &str = "/usr/bin";
const SSHD: &str = "/usr/sbin/sshd";
const TOOLS: [&str; 6] = ["ip", "unshare", "nsenter", "script", "ssh", "ssh-keygen"];

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The machines, and a network between them and this program.
struct Net {
    world: World,
    outer: Running,
    others: Vec<Running>,
}

fn quietly(command: &mut Command) -> bool {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|it| it.success())
}

fn sleeper(command: &mut Command) -> Option<Running> {
    let child =
        command.arg("sleep").arg("600").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
    child.ok().map(Running)
}

/// Returns a command that runs in the namespaces of a process.
fn within(process: &Running, namespaces: &[&str]) -> Command {
    let mut command = Command::new("nsenter");
    command.arg("-t").arg(process.0.id().to_string()).args(namespaces).arg("--");
    command
}

/// Waits until a condition is true.
fn eventually(is_so: impl Fn() -> bool) -> bool {
    let begin = Instant::now();
    while begin.elapsed() < Duration::from_secs(20) {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

impl Net {
    /// Sets everything up; the error names what this machine lacks.
    fn new(names: &[&str]) -> Result<Self, String> {
        let has = |tool: &&&str| !quietly(Command::new("sh").args(["-c", "command -v \"$0\"", tool]));
        if let Some(missing) = TOOLS.iter().find(has) {
            return Err(format!("there is no {missing}"));
        }
        if !Path::new(SSHD).exists() {
            return Err(format!("there is no {SSHD}"));
        }
        let world = World::with_agents();
        let outer = sleeper(Command::new("unshare").args(["--net", "--mount"])).ok_or("nothing can be unshared")?;
        let is_apart = |process: &Running| {
            let of = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
            of(&process.0.id().to_string()).is_some_and(|apart| Some(apart) != of("self"))
        };
        if !eventually(|| is_apart(&outer)) {
            return Err("no namespace can be made".to_owned());
        }
        let in_outer = |line: &str| quietly(within(&outer, &["-n", "-m"]).args(["sh", "-c", line]));
        if !in_outer("ip link set lo up && mount -t tmpfs none /run && mkdir -m 755 /run/sshd") {
            return Err("the network of a namespace cannot be set up".to_owned());
        }
        let root = world.root().to_owned();
        let keygen = |file: &str| {
            quietly(Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(root.join(file)))
        };
        if !["host_key", "key"].into_iter().all(keygen) {
            return Err("no key can be made".to_owned());
        }
        let mut net = Self { world, outer, others: Vec::new() };
        let shown = root.display();
        let mut config = String::new();
        for (at, name) in names.iter().enumerate() {
            net.start(name, at)?;
            config += &format!("Host {name}\n  HostName 10.77.{at}.2\n");
        }
        config += &format!(
            "Host nobody\n  HostName 10.77.0.9\nHost *\n  User root\n  IdentityFile {shown}/key\n  IdentitiesOnly yes\n  \
             StrictHostKeyChecking no\n  UserKnownHostsFile /dev/null\n  LogLevel ERROR\n"
        );
        std::fs::write(root.join("config"), config).expect("a configuration");
        // ssh searches for its configuration in the home of the user's account, regardless of HOME.
        let ssh = format!("#!/bin/sh\nexec /usr/bin/ssh -F '{shown}/config' \"$@\"\n");
        put_program(&root.join("bin/ssh"), &ssh);
        let login = || quietly(net.command("ssh").arg(names[0]).arg("true"));
        if eventually(login) { Ok(net) } else { Err("nobody can log in there".to_owned()) }
    }

    fn start(&mut self, name: &str, at: usize) -> Result<(), String> {
        let host = sleeper(within(&self.outer, &["-n", "-m"]).args(["unshare", "--net", "--uts"]));
        let host = host.ok_or("nothing can be unshared")?;
        let pid = host.0.id();
        let is_apart = || {
            let of = |pid: u32| std::fs::read_link(format!("/proc/{pid}/ns/net")).ok();
            let own = of(pid);
            own.is_some() && own != of(self.outer.0.id()) && own != of(std::process::id())
        };
        if !eventually(is_apart) {
            return Err("no namespace can be made".to_owned());
        }
        let line = format!(
            "ip link add v{at} type veth peer name eth0 netns {pid} && ip addr add 10.77.{at}.1/24 dev v{at} && ip link set v{at} up"
        );
        let there = format!(
            "hostname {name} && ip addr add 10.77.{at}.2/24 dev eth0 && ip link set eth0 up && ip link set lo up"
        );
        if !quietly(within(&self.outer, &["-n", "-m"]).args(["sh", "-c", &line]))
            || !quietly(within(&host, &["-n", "-m", "-u"]).args(["sh", "-c", &there]))
        {
            return Err("the network of a namespace cannot be set up".to_owned());
        }
        let root = self.world.root().display().to_string();
        let home = self.home(name);
        std::fs::create_dir_all(home.join(".local/bin")).expect("a directory");
        let rejoin = env!("CARGO_BIN_EXE_rejoin");
        std::os::unix::fs::symlink(rejoin, home.join(".local/bin/rejoin")).expect("a link");
        let config = format!(
            "HostKey {root}/host_key\nAuthorizedKeysFile {root}/key.pub\nPermitRootLogin prohibit-password\nStrictModes no\nUsePAM no\n\
             PidFile none\nPrintMotd no\nSetEnv HOME={} PATH={root}/agents:/usr/bin:/bin REJOIN_NOW={} TZ=UTC\n",
            home.display(),
            crate::world::NOW
        );
        let file = self.world.root().join(format!("sshd-{name}"));
        std::fs::write(&file, config).expect("a configuration");
        let mut sshd = within(&host, &["-n", "-m", "-u"]);
        let sshd = sshd.args([SSHD, "-D", "-e", "-f"]).arg(&file).stdin(Stdio::null()).stdout(Stdio::null());
        let sshd = sshd.stderr(Stdio::null()).spawn().map_err(|error| error.to_string())?;
        self.others.extend([Running(sshd), host]);
        Ok(())
    }

    fn home(&self, host: &str) -> PathBuf {
        self.world.root().join("hosts").join(host)
    }

    #[expect(clippy::needless_pass_by_value, reason = "a fixture is built where it is added")]
    fn add(&self, host: &str, fixture: impl Fixture) -> PathBuf {
        fixture.write_to(&self.home(host))
    }

    /// Returns a command in the environment of a test, and in the network.
    fn command(&self, program: &str) -> Command {
        let mut command = self.world.from(self.world.root()).command("nsenter");
        command.arg("-t").arg(self.outer.0.id().to_string()).args(["-n", "-m", "--", program]);
        command
    }

    fn rejoin(&self, args: &[&str]) -> Answer {
        let pid = self.outer.0.id().to_string();
        let before = ["-t", &pid, "-n", "-m", "--", env!("CARGO_BIN_EXE_rejoin")];
        self.world.from(self.world.root()).run("nsenter", before.iter().chain(args))
    }

    fn json(&self, code: i32, args: &[&str]) -> Value {
        contract::parse(&self.rejoin(args).code(code).stdout())
    }
}

fn put_program(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("a directory");
    std::fs::write(path, text).expect("a program");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
}

/// Sets up the hosts, or prints what this machine lacks.
#[expect(clippy::disallowed_macros, reason = "whoever reads the log wants to know that it was not tried")]
fn hosts(names: &[&str]) -> Option<Net> {
    match Net::new(names) {
        Ok(net) => Some(net),
        Err(why) => {
            println!("skipped: {why}");
            None
        }
    }
}

fn ids(answer: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let sessions = answer["sessions"].as_array().expect("sessions").iter();
    sessions.map(|session| (text(&session["host"]), text(&session["id"]))).collect()
}

#[test]
fn every_command_works_on_three_hosts_over_ssh() {
    let Some(net) = hosts(&["ant", "bee", "cat"]) else { return };
    net.add("ant", Claude::session(id(1)).in_dir(APP).at("2026-02-01T10:00:00Z").turn("the quokka", "ok"));
    net.add("bee", Pi::session(id(2)).in_dir(APP).at("2026-02-02T10:00:00Z").turn("other", "the quokka"));
    net.add("cat", Gemini::session(id(3)).in_dir(APP).at("2026-02-03T10:00:00Z").turn("third", "ok"));
    net.add("cat", Claude::session(id(4)).in_dir("/no/such/place").at("2026-01-01T10:00:00Z").turn("gone", "ok"));
    net.add("cat", Codex::session(id(5)).in_dir(APP).turn("codex", "ok"));
    net.add("cat", Claude::session(id(6)).in_dir(APP).at("2026-01-31T10:00:00Z").turn("newer", "ok"));
    ["ant", "bee", "cat"].iter().for_each(|name| age_tree(&net.home(name)));
    let all = "ant,bee,cat";

    // The sessions are merged in one order; a missing host does not delay the others.
    let list = net.json(0, &["list", "--host", all, "--json", "--agent", "claude,pi,gemini"]);
    let pair = |host: &str, number: u32| (host.to_owned(), id(number));
    assert_eq!(ids(&list), [pair("cat", 3), pair("bee", 2), pair("ant", 1), pair("cat", 6), pair("cat", 4)]);
    let down = net.rejoin(&["list", "--host", "nobody,ant", "--connect-timeout", "3s"]).code(3);
    assert!(down.stdout().starts_with("ant\tclaude\t"), "{}", down.stdout());
    assert_eq!(down.stderr().lines().count(), 1, "{}", down.stderr());

    // One host is slow, and another one has a different version of rejoin.
    let own = net.home("bee").join(".local/bin/rejoin");
    std::fs::remove_file(&own).expect("a link");
    put_program(&own, &format!("#!/bin/sh\nsleep 2\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_rejoin")));
    let slow = net.json(0, &["list", "--host", "ant,bee", "--json"]);
    assert_eq!(ids(&slow), [pair("bee", 2), pair("ant", 1)]);
    put_program(&own, "#!/bin/sh\necho '{\"format_version\":\"2.0\",\"kind\":\"session-list\"}'\n");
    let old = net.rejoin(&["list", "--host", "ant,bee"]).code(3);
    assert!(old.stderr().contains("error: bee: its rejoin answers in format 2.0"), "{}", old.stderr());
    assert!(old.stdout().starts_with("ant\tclaude\t"), "{}", old.stdout());
    put_program(&own, &format!("#!/bin/sh\nexec {} \"$@\"\n", env!("CARGO_BIN_EXE_rejoin")));

    // `search` and `doctor`.
    let found = net.json(0, &["search", "--host", all, "quokka", "--json"]);
    assert_eq!(ids(&found).len(), 2, "{found}");
    let doctor = net.json(4, &["doctor", "--host", "cat", "--json", "--check", "missing-directory"]);
    assert_eq!(doctor["hosts"][0]["answer"]["findings"].as_array().map(Vec::len), Some(1));

    // `resume` at a terminal: the host has one, and the agent's status is returned.
    let agent = format!(
        "#!/bin/sh\ntty > '{0}/tty'; pwd > '{0}/where'; echo \"$@\" > '{0}/argv'; exit 42\n",
        net.world.root().display()
    );
    put_program(&net.world.root().join("agents/claude"), &agent);
    let line = format!("{} resume --host {all} {}", env!("CARGO_BIN_EXE_rejoin"), id(1));
    let mut command = net.command("script");
    let status = command.args(["-qefc", &line, "/dev/null"]).stdin(Stdio::null()).stdout(Stdio::null()).status();
    assert_eq!(status.expect("an end").code(), Some(42));
    let record_of = |name: &str| std::fs::read_to_string(net.world.root().join(name)).expect("what the agent said");
    assert!(record_of("tty").starts_with("/dev/pts/"), "{}", record_of("tty"));
    let real = PathBuf::from(APP).canonicalize().expect("a path");
    assert_eq!((record_of("argv").contains(&id(1)), PathBuf::from(record_of("where").trim())), (true, real));

    // `cleanup`: the plan changes nothing, the same command with --yes does, and it can be undone.
    let plan = net.json(0, &["cleanup", "--host", "cat", "--older-than", "40d", "--dry-run", "--json"]);
    assert_eq!(plan["hosts"][0]["answer"]["totals"]["planned"], 1, "{plan}");
    assert_eq!(net.rejoin(&["list", "--host", "cat"]).code(0).stdout().lines().count(), 4);
    net.rejoin(&["cleanup", "--host", "cat", "--older-than", "40d", "--yes"]).code(0);
    assert_eq!(net.rejoin(&["list", "--host", "cat"]).code(0).stdout().lines().count(), 3);
    net.rejoin(&["undo", "--host", "cat", "--yes"]).code(0);
    assert_eq!(net.rejoin(&["list", "--host", "cat"]).code(0).stdout().lines().count(), 4);

    // A session is archived on one host into a directory that another one can read, and restored there.
    let shared = net.world.root().join("shared");
    let shared = shared.to_str().expect("a path in UTF-8");
    for host in ["ant", "bee", "cat"] {
        net.rejoin(&["archive", "--host", host, "--every", "--archive-dir", shared]).code(0);
    }
    let held = net.json(0, &["list", "--host", "bee", "--archived", "--archive-dir", shared, "--json"]);
    let held = held["hosts"][0]["answer"]["sessions"].as_array().expect("sessions").clone();
    let mut names: Vec<&str> = held.iter().filter_map(|it| it["states"][0]["hostname"].as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["ant", "bee", "cat", "cat", "cat", "cat"]);
    let shown = net.rejoin(&["list", "--archived", "--archive-dir", shared, "--format", "table"]).code(0).stdout();
    assert!(shown.starts_with("HOST") && shown.contains("\nant ") && shown.contains("\nbee "), "{shown}");
    net.rejoin(&["restore", "--host", "cat", &id(1), "--archive-dir", shared]).code(0);
    let moved = net.json(0, &["list", "--host", "cat", "--agent", "claude", "--json"]);
    assert!(ids(&moved).contains(&pair("cat", 1)), "{moved}");
    net.rejoin(&["archive", "--host", "bee", "--archive-dir", shared, "--verify"]).code(0);
}

/// Copies a tree with its times and modes.
fn copy_tree(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a directory");
    assert!(
        quietly(Command::new("cp").arg("-a").arg(format!("{}/.", from.display())).arg(to)),
        "cp {}",
        from.display()
    );
}

#[test]
#[expect(clippy::disallowed_macros, reason = "whoever reads the log wants to know that it was not tried")]
fn real_sessions_are_the_same_over_ssh() {
    let corpus = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../shared/corpus"));
    let names = ["claude", "codex", "gemini"];
    if !names.iter().all(|name| corpus.join(name).join("home").is_dir()) {
        println!("skipped: there is no ../shared/corpus beside the checkout");
        return;
    }
    let Some(net) = hosts(&names) else { return };
    let mut expected = Vec::new();
    for name in names {
        copy_tree(&corpus.join(name).join("home"), &net.home(name));
        let home = net.home(name);
        let here = net.world.rejoin(["--home", home.to_str().expect("a path in UTF-8"), "list", "--all", "--json"]);
        let here: Value = contract::parse(&here.code(0).stdout());
        let sessions = here["sessions"].as_array().expect("sessions").iter();
        expected.extend(sessions.map(|one| (name.to_owned(), one["id"].as_str().expect("an id").to_owned())));
    }
    let all = net.json(0, &["list", "--host", &names.join(","), "--all", "--json"]);
    let mut found = ids(&all);
    let times: Vec<&str> =
        all["sessions"].as_array().expect("sessions").iter().filter_map(|it| it["active_at"].as_str()).collect();
    assert!(times.is_sorted_by(|one, next| one >= next), "newest first: {times:?}");
    found.sort_unstable();
    expected.sort_unstable();
    assert!(found.len() > 100);
    assert_eq!(found, expected);
}

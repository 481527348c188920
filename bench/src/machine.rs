//! Reads data about the machine and about processes from the kernel.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context as _;
use jiff::Timestamp;

/// The unit in which the kernel's files state processor time.
const TICK: Duration = Duration::from_millis(10);

fn read(path: &str) -> anyhow::Result<String> {
    fs::read_to_string(path).with_context(|| path.to_owned())
}

/// Returns the value of the line `name: value` with this name.
fn value<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines
        .find(|(key, _)| key.trim() == name)
        .map(|(_, value)| value.trim())
}

/// Returns the value of the line with this name in MiB. The line must have the value in kB.
fn mebibytes(text: &str, name: &str) -> Option<f64> {
    let kibibytes: u32 = value(text, name)?.strip_suffix("kB")?.trim().parse().ok()?;
    Some(f64::from(kibibytes) / 1_024.0)
}

/// Returns the resident memory of a process, in MiB.
pub fn resident(process: u32) -> anyhow::Result<f64> {
    mebibytes(&read(&format!("/proc/{process}/status"))?, "VmRSS").context("the process has ended")
}

/// Returns the processor time that a process has used so far, in user mode and in kernel mode.
pub fn processor_time(process: u32) -> anyhow::Result<Duration> {
    ticks(&read(&format!("/proc/{process}/stat"))?)
        .map(|ticks| TICK * ticks)
        .context("an unknown format of /proc/PID/stat")
}

/// Returns the processor time that this process has used so far.
pub fn own_processor_time() -> anyhow::Result<Duration> {
    processor_time(std::process::id())
}

/// Returns the sum of the 14th and the 15th field of `/proc/PID/stat`: the ticks in user mode and
/// in kernel mode. The second field, a name in parentheses, may contain spaces.
fn ticks(stat: &str) -> Option<u32> {
    let (_, fields) = stat.rsplit_once(')')?;
    let mut fields = fields.split_whitespace().skip(11);
    let (user, system): (u32, u32) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(user + system)
}

/// Returns the maximum number of files that this process may have open. Its child processes have
/// the same limit.
pub fn open_files() -> anyhow::Result<usize> {
    max_open_files(&read("/proc/self/limits")?).context("an unknown format of /proc/self/limits")
}

/// Returns the soft limit of open files from the text of `/proc/self/limits`. In that text the soft
/// limit precedes the hard limit.
fn max_open_files(limits: &str) -> Option<usize> {
    let limit = limits
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))?
        .split_whitespace()
        .next()?;
    if limit == "unlimited" {
        Some(usize::MAX)
    } else {
        limit.parse().ok()
    }
}

/// Returns the type of the file system that contains a path.
fn file_system<'t>(mounts: &'t str, path: &Path) -> Option<&'t str> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        Some((fields.next()?, fields.next()?))
    });
    let mounts_of_path = mounts.filter(|(mount_point, _)| path.starts_with(mount_point));
    // If several file systems are mounted at the same path, only the last one is visible.
    // `max_by_key` returns the last one of several equal maxima.
    mounts_of_path
        .max_by_key(|(mount_point, _)| mount_point.len())
        .map(|(_, kind)| kind)
}

/// Returns the heading of the results table: the date, the machine and the plan.
pub fn heading(scratch: &Path, plan: &str) -> anyhow::Result<String> {
    #[expect(
        clippy::disallowed_methods,
        reason = "the heading shows the date of the measurement"
    )]
    let date = Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string();
    let cpuinfo = read("/proc/cpuinfo")?;
    let model = value(&cpuinfo, "model name").unwrap_or("unknown processor");
    let cores = std::thread::available_parallelism()?;
    let memory = mebibytes(&read("/proc/meminfo")?, "MemTotal")
        .context("an unknown format of /proc/meminfo")?
        / 1_024.0;
    let mounts = read("/proc/self/mounts")?;
    let files = file_system(&mounts, scratch).unwrap_or("an unknown file system");
    Ok(format!(
        "{date}, {model}, {cores} cores, {memory:.1} GiB of memory, databases on {files}, {plan}"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_from_kernel_files() {
        assert_eq!(
            mebibytes("Name:\tx\nVmRSS:\t   20480 kB\n", "VmRSS"),
            Some(20.0)
        );
        assert_eq!(
            value("processor\t: 0\nmodel name\t: AMD EPYC\n", "model name"),
            Some("AMD EPYC")
        );
        assert_eq!(
            ticks("7 (a b) c) S 1 7 7 0 -1 4194560 100 0 0 0 12 5 0 0 20 0"),
            Some(17)
        );
        let limits = "Limit             Soft Limit  Hard Limit  Units\nMax open files    \
            1024        4096        files\n";
        assert_eq!(max_open_files(limits), Some(1_024));
        let mounts = "/dev/vda / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n";
        assert_eq!(file_system(mounts, Path::new("/tmp/x")), Some("tmpfs"));
        assert_eq!(file_system(mounts, Path::new("/tmpx")), Some("ext4"));
    }
}

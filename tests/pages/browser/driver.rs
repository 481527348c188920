//! Starts one `chromedriver` process for all tests of the run, and gives each test its own window.
//! At most two windows are open at a time.

use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::process::{Child, Command, Stdio};
use std::sync::{LazyLock, mpsc};
use std::time::Duration;

use futures_util::FutureExt as _;
use test_support::left_out::leave_out;
use tokio::sync::Semaphore;

use super::window::Window;

/// Environment variable that makes browser tests fail, instead of being skipped, if no browser is
/// installed.
pub const REQUIRED_BY: &str = "VESTIBULE_REQUIRE_CHROMIUM";

/// Time limit for the start of the driver.
const WAIT_LIMIT: Duration = Duration::from_secs(30);

/// The permits for open browser windows: at most two windows are open at the same time.
static PLACES: Semaphore = Semaphore::const_new(2);

static DRIVER: LazyLock<Option<Driver>> = LazyLock::new(Driver::start);

/// The `chromedriver` process that this test process started.
struct Driver {
    base: String,
    /// A shell that kills the driver and its browsers when its standard input closes. The input
    /// closes even if this process is killed.
    _guard: Child,
}

impl Driver {
    fn start() -> Option<Self> {
        let is_there = |program: &&str| {
            Command::new(program)
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok()
        };
        if !["chromium", "chromedriver"].iter().all(is_there) {
            return None;
        }
        let mut guard = Command::new("sh")
            .args(["-c", "chromedriver --port=0 & cat >/dev/null; kill -KILL 0"])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let output = BufReader::new(guard.stdout.take().unwrap());
        let (text, port) = mpsc::channel();
        // This thread reads the driver's output until the driver ends, not only until it prints its
        // port. Otherwise the full pipe would block the driver.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if let Some((_, port)) = line.split_once("started successfully on port ") {
                    text.send(port.trim_end_matches('.').to_owned()).ok();
                }
            }
        });
        let port = port
            .recv_timeout(WAIT_LIMIT)
            .expect("chromedriver says its port");
        Some(Self {
            base: format!("http://127.0.0.1:{port}"),
            _guard: guard,
        })
    }
}

/// Returns the driver. If Chromium is not installed, records the test as skipped and returns
/// `None`.
async fn driver() -> Option<&'static Driver> {
    let driver = tokio::task::spawn_blocking(|| DRIVER.as_ref())
        .await
        .unwrap();
    if driver.is_none() {
        leave_out(
            "Chromium",
            "chromium or chromedriver was not found",
            REQUIRED_BY,
        );
    }
    driver
}

/// Runs a test in its own window and closes the window afterwards. The test is skipped if Chromium
/// is not installed.
pub async fn browse(deadline: Duration, test: impl AsyncFnOnce(&Window)) {
    let Some(driver) = driver().await else {
        return;
    };
    let _place = PLACES.acquire().await.unwrap();
    let window = Window::open(&driver.base).await;
    let outcome = AssertUnwindSafe(tokio::time::timeout(deadline, test(&window)))
        .catch_unwind()
        .await;
    window.close().await;
    match outcome {
        Ok(in_time) => in_time.expect("the browser is done in time"),
        Err(panic) => resume_unwind(panic),
    }
}

/// Runs a test in two windows with separate cookies and storage, and closes them afterwards. The
/// test is skipped if Chromium is not installed.
pub async fn browse_on_two(deadline: Duration, test: impl AsyncFnOnce(&Window, &Window)) {
    let Some(driver) = driver().await else {
        return;
    };
    let _places = PLACES.acquire_many(2).await.unwrap();
    let (one, two) = (
        Window::open(&driver.base).await,
        Window::open(&driver.base).await,
    );
    let outcome = AssertUnwindSafe(tokio::time::timeout(deadline, test(&one, &two)))
        .catch_unwind()
        .await;
    one.close().await;
    two.close().await;
    match outcome {
        Ok(in_time) => in_time.expect("the browsers are done in time"),
        Err(panic) => resume_unwind(panic),
    }
}

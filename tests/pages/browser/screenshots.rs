//! Writes the pictures in `docs/images` from the running demo: `just screenshots` for the guest
//! page, `just console-pictures` for the console.

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use test_support::demo::Demo;

use super::driver::browse;
use super::people::press;
use super::window::{DESKTOP, PHONE, Window};

/// Maximum size of a picture in bytes.
const MAX_BYTES: usize = 150 << 10;

/// Size of the window for pictures of the console, in CSS pixels.
const CONSOLE: (u32, u32) = (1280, 800);

/// Writes a screenshot. Of three resolutions, uses the highest one whose file has at most
/// [`MAX_BYTES`] bytes. Panics if the file of each resolution is larger.
async fn write(window: &Window, name: &str, size: (u32, u32)) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("docs/images")
        .join(format!("{name}.png"));
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    for scale in [2.0, 1.5, 1.0] {
        window.scaled(size, scale).await;
        let picture = BASE64_STANDARD.decode(window.picture().await).unwrap();
        if picture.len() <= MAX_BYTES {
            return std::fs::write(path, picture).unwrap();
        }
    }
    panic!("{name} is larger than {MAX_BYTES} bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes docs/images; `just screenshots` runs it"]
async fn screenshots_of_the_guest_page_are_written() {
    browse(Duration::from_secs(120), async |window| {
        let demo = tokio::task::spawn_blocking(Demo::start).await.unwrap();
        let flat = demo.flat().await;
        let days = [
            ("after", (-6, -2)),
            ("departure", (-4, 0)),
            ("stay", (-1, 3)),
            ("arrival", (0, 4)),
            ("before", (1, 5)),
        ];
        for (name, days) in days {
            window.resize(PHONE).await;
            window.prefer(&[("prefers-color-scheme", "light")]).await;
            window.go(&demo.page(&flat, days).await).await;
            write(window, &format!("guest-{name}"), PHONE).await;
        }
        window.prefer(&[("prefers-color-scheme", "dark")]).await;
        write(window, "guest-before-dark", PHONE).await;
        write(window, "guest-before-desktop-dark", DESKTOP).await;
        window.prefer(&[("prefers-color-scheme", "light")]).await;
        write(window, "guest-before-desktop", DESKTOP).await;
        let step = "const next = document.querySelector('main a[href*=\"/steps/\"]'); \
            location.assign(next.href)";
        window.leaves(async { drop(window.run(step).await) }).await;
        write(window, "guest-step", PHONE).await;
    })
    .await;
}

/// Webhook targets that appear in the pictures. The addresses do not exist.
const RECEIVERS: [(&str, &str); 3] = [
    (
        "reservation.created",
        "https://hooks.example.com/reservations",
    ),
    ("device.offline", "https://locks.example.com/devices"),
    ("task.created", "https://cleaning.example.com/tasks"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "writes docs/images; `just console-pictures` runs it"]
async fn screenshots_of_the_console_are_written() {
    browse(Duration::from_secs(120), async |window| {
        let demo = tokio::task::spawn_blocking(Demo::start).await.unwrap();
        let go = async |path: &str| window.go(&format!("{}/console{path}", demo.root())).await;
        let follow = async |selector: &str| press(window, selector).await;
        window.prefer(&[("prefers-color-scheme", "light")]).await;
        window.resize(CONSOLE).await;
        window.go(demo.sign_in_link()).await;
        follow("main button").await;
        write(window, "console-home", CONSOLE).await;
        write(window, "console-home-phone", PHONE).await;
        window.resize(CONSOLE).await;
        go("/portals").await;
        follow("main .list a").await;
        let is_shown = "const page = document.querySelector('iframe').contentDocument;
            return !!page && page.readyState === 'complete' && !!page.querySelector('main h1, h1')";
        window
            .until("the guest's page beside the form", is_shown)
            .await;
        write(window, "console-portal", CONSOLE).await;
        go("/steps").await;
        write(window, "console-steps", CONSOLE).await;
        go("/stays").await;
        follow("main .list a").await;
        follow("main a[href$='/why']").await;
        write(window, "console-why", CONSOLE).await;
        for (event, url) in RECEIVERS {
            go("/webhooks/new").await;
            let fill = format!(
                "document.querySelector('#event').value = '{event}'; \
                    document.querySelector('#url').value = '{url}'"
            );
            window.run(&fill).await;
            follow("main form button").await;
        }
        go("/webhooks").await;
        write(window, "console-webhooks", CONSOLE).await;
    })
    .await;
}

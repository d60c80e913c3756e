"""Output in files and on the console: torchrun's layout and options, nothing lost, nothing torn."""
import os
import re
import shutil

from job import JobCase

SAY = 'echo "out $LOCAL_RANK"; echo "err $LOCAL_RANK" >&2\n'


class Logs(JobCase):
    def run_job(self, *options, worker=SAY, code=0, env=None, **start):
        run = self.launch("--nproc-per-node=2", "--omp-threads=1", "--rdzv-id=job", f"--log-dir={self.folder}/logs",
                          *options, self.worker(worker), env=env, **start)
        self.expect([code], [run])
        return run

    def files(self):
        """Name below the attempt's folder -> content."""
        (folder,) = (self.folder / "logs").glob("job_????????/attempt_0")
        return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}

    def test_redirected_streams_go_to_files_only(self):
        for options, files, out, err in (
                (["-r", "3"], {"0/stdout.log", "0/stderr.log", "1/stdout.log", "1/stderr.log"}, [], []),
                (["--redirects=1"], {"0/stdout.log", "1/stdout.log"}, [], ["err 0", "err 1"]),
                (["-r0:1,1:2"], {"0/stdout.log", "1/stderr.log"}, ["out 1"], ["err 0"]),
                (["-r0:3,1:0,77:3"], {"0/stdout.log", "0/stderr.log"}, ["out 1"], ["err 1"])):
            with self.subTest(options=options):
                run = self.run_job(*options)
                said, *shown = sorted(run.err.splitlines(), reverse=True)
                self.assertRegex(said, rf"launch: output of the workers is in {self.folder}/logs/job_\w{{8}} \(host ")
                self.assertEqual((out, err), (sorted(run.out.splitlines()), sorted(shown)))
                found = self.files()
                self.assertEqual(files, found.keys())
                for name, text in found.items():
                    rank, stream = name.split("/")
                    self.assertEqual(f"{stream[3:6]} {rank}\n", text)
                self.clear()

    def clear(self):
        for path in sorted((self.folder / "logs").rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()

    def test_tee_shows_lines_with_their_prefix(self):
        run = self.run_job("-t", "3")
        self.assertEqual(["[default0]:out 0", "[default1]:out 1"], sorted(run.out.splitlines()))
        self.assertEqual(["[default0]:err 0", "[default1]:err 1"], sorted(run.err.splitlines()))
        self.assertEqual("err 1\n", self.files()["1/stderr.log"])

    def test_prefix_by_template_and_by_variable(self):
        for options, env in ((["--log-line-prefix-template=${role_name}-${rank}/$local_rank$$: "], {}),
                             ([], {"TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE": "${role_name}-${rank}/$local_rank$$: "})):
            run = self.run_job("--tee=1:1", "--role=r", *options, env=env)
            self.assertIn("r-1/1$: out 1", run.out.splitlines())
            self.assertIn("out 0", run.out.splitlines())

    def test_filtered_ranks_are_written_and_not_shown(self):
        run = self.run_job("-t1", "--local-ranks-filter=0")
        self.assertEqual(("[default0]:out 0\n", "err 0\n"), (run.out, run.err))
        self.assertEqual({"0/stdout.log": "out 0\n", "1/stdout.log": "out 1\n"}, self.files())

    def test_lines_with_a_text_are_copied(self):
        worker = 'echo "loss $RANK"; echo x; echo a,b\n'
        run = self.run_job("-t1", "--duplicate-stdout-filters=loss,a,,b", worker=worker)
        self.assertEqual(6, len(run.out.splitlines()))
        self.assertEqual(["[default0]:a,b", "[default0]:loss 0", "[default1]:a,b", "[default1]:loss 1"],
                         sorted(self.files()["filtered_stdout.log"].splitlines()))

    def test_without_a_folder_all_goes_to_the_console(self):
        run = self.run_job("-t3", "--log-dir=/dev/null", "--local-ranks-filter=0")
        self.assertEqual(["out 0", "out 1"], sorted(run.out.splitlines()))

    def test_the_last_word_of_a_worker_is_shown(self):
        worker = 'head -c 4000000 /dev/zero | tr "\\0" x | fold -w 99; echo; printf "the end of $RANK"; exit 0\n'
        run = self.run_job("-t1", worker=worker)
        lines = run.out.splitlines()
        wanted = len((self.files()["0/stdout.log"] + "\n" + self.files()["1/stdout.log"]).splitlines())
        self.assertEqual(wanted, len(lines))
        for rank in (0, 1):
            self.assertIn(f"[default{rank}]:the end of {rank}", lines)
        odd = {line for line in lines if not re.fullmatch(r"\[default[01]\]:(x{0,99}|the end of [01])", line)}
        self.assertEqual(set(), odd, "torn lines")

    def test_a_console_that_closed_does_not_end_the_job(self):
        inside, outside = os.pipe()
        os.close(inside)
        try:
            self.run_job("-t1", worker=SAY + ': > "$TEST_FOLDER/done.$RANK"\n', stdout=outside)
        finally:
            os.close(outside)
        self.assertTrue((self.folder / "done.1").exists())

    def test_the_report_says_where_the_output_is(self):
        run = self.run_job("-r", "3", worker=SAY + "exit 3\n", code=3)
        (path,) = re.findall(r"log +(?:host \S+: )?(/.*)", run.err)
        self.assertRegex(path, rf"{self.folder}/logs/job_\w{{8}}/attempt_0/[01]/stderr\.log")

    def test_without_a_folder_for_logs_a_temporary_one_is_made(self):
        worker, tmp = self.worker('echo "$TORCHELASTIC_ERROR_FILE"\n'), f"{self.folder}/tmp"
        for options, env, place in (([], {"TMPDIR": ""}, "/dev/shm"), (["-r2"], {"TMPDIR": ""}, "/tmp"),
                                    ([], {}, tmp), (["-r2"], {}, tmp),
                                    ([], {"TMPDIR": "/nowhere", "TEMP": "/proc", "TMP": tmp}, tmp),
                                    ([], {"TMPDIR": "/nowhere", "TEMP": "/proc", "TMP": "/sys"}, "/dev/shm")):
            with self.subTest(options=options, env=env):
                run = self.launch(*options, worker, env={"TEMP": "", "TMP": "", **env})
                self.expect([0], [run])
                self.assertRegex(run.out, rf"\A{place}/torchelastic_\w{{6}}/\S+_\w{{8}}/attempt_0/0/error\.json\n\Z")
                top = run.out[:run.out.index("/", len(place) + 1)]
                self.assertEqual(bool(options), os.path.exists(top), "what holds a stream's file stays")
                shutil.rmtree(top, ignore_errors=True)
        self.assertEqual([], os.listdir(tmp))

    def test_a_folder_that_is_removed_while_the_job_runs_is_made_again(self):
        removes = 'rm -r "$TEST_FOLDER/logs"\n'
        for more, expected in (("", "logs/job_*"), (': > "$TEST_FOLDER/logs"\n', "tmp/*/*")):
            with self.subTest(more=more):
                worker = self.worker(f'[ "$TORCHELASTIC_RESTART_COUNT" = 0 ] && {{ {removes}{more}exit 9; }}\n',
                                     "echo went on\n")
                run = self.launch("--max-restarts=1", "--tee=3", "--rdzv-id=job", f"--log-dir={self.folder}/logs",
                                  worker)
                self.expect([0], [run])
                (kept,) = self.folder.glob(f"{expected}/attempt_1/0/stdout.log")
                self.assertEqual("went on\n", kept.read_text())
                if more:
                    self.assert_says(run, f"Not a directory.*; the files of this attempt are in {kept.parent.parent}")
                    (self.folder / "logs").unlink()

    def test_an_empty_folder_is_not_left_behind(self):
        self.run_job()
        self.assertEqual([], list((self.folder / "logs").iterdir()))

    def test_the_newest_job_has_a_link(self):
        latest = self.folder / "logs" / "latest"
        seen = set()
        for _ in range(2):
            self.run_job("-r1")
            self.assertRegex(os.readlink(latest), r"^job_\w{8}$")
            seen.add(os.readlink(latest))
            self.assertEqual("out 1\n", (latest / "attempt_0/1/stdout.log").read_text())
        self.assertEqual(2, len(seen))
        self.assertEqual(seen | {"latest"}, {path.name for path in (self.folder / "logs").iterdir()})
        self.run_job()  # whose folder stays empty
        self.assertFalse(latest.is_symlink())

    def test_what_the_user_has_named_latest_stays(self):
        latest = self.folder / "logs" / "latest"
        latest.mkdir(parents=True)
        self.run_job("-r1")
        self.assertTrue(latest.is_dir() and not latest.is_symlink())
        self.assertEqual("out 0\n", self.files()["0/stdout.log"])

    def test_a_folder_that_cannot_be_made(self):
        (self.folder / "file").touch()
        run = self.launch(f"--log-dir={self.folder}/file/below", self.worker(SAY))
        self.expect([1], [run])
        self.assert_says(run, "--log-dir")
        self.assertEqual("", run.out)

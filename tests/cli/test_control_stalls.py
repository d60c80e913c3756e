"""The folder of doors on a disk that stalls: launch-ctl has to wait for it, and no job does."""
from harness import Settings, wait_for
from test_stalls import UNTIL_GO, UP, StallCase


class Door(StallCase):
    def frozen_jobs(self):
        self.use_disk()
        self.disk.freeze()
        waiting = self.four_jobs("door", self.worker(UP, UNTIL_GO), before=self.disk.inside(),
                                 env={"LAUNCH_DOORS": f"{self.disk.folder}/doors"})
        self.wait_until_up(*waiting)
        for run in waiting.values():
            self.assert_says(run, r"launch-ctl cannot ask this job before the file system of \S+/doors answers")
        return waiting

    def test_a_job_starts_and_ends_without_it(self):
        self.frozen_jobs()
        self.assert_all_end_well()

    def test_a_job_is_found_once_it_answers(self):
        waiting = self.frozen_jobs()
        self.disk.thaw()
        (self.folder / "launch-ctl").symlink_to(Settings.launch)
        self.assertTrue(wait_for(lambda: len(self.found()) == len(waiting), 30), self.found())
        self.assert_all_end_well()
        self.assertEqual([], list((self.disk.path / "doors").iterdir()))

    def found(self):
        run = self.start([*self.disk.inside(), self.folder / "launch-ctl", "ps"],
                         env={"LAUNCH_DOORS": f"{self.disk.folder}/doors"})
        self.expect([0], [run])
        return run.out.splitlines()[1:]

    def test_a_disk_that_stalls_later_does_not_delay_the_end(self):
        self.use_disk()
        waiting = self.four_jobs("door", self.worker(UP, UNTIL_GO), before=self.disk.inside(),
                                 env={"LAUNCH_DOORS": f"{self.disk.folder}/doors"})
        self.wait_until_up(*waiting)
        self.disk.freeze()
        self.assert_all_end_well()

"""The hosts of the tests of launch --hosts are as those tests need them, whatever launch does there."""
import os

import processes
from harness import wait_for
from hosts_case import HostsCase


class Place(HostsCase):
    def ask(self, place, *words):
        """The run of this command on login."""
        run = self.start(place.on_login(*words), env=place.environment())
        self.finish(run, seconds=40)
        return run

    def test_launch_is_on_all_hosts(self):
        version = self.output_of("--version")
        with self.place(8) as place:
            names = [place.name(number) for number in range(1, 9)]
            line = "".join(f"ssh {name} launch --version; " for name in names)
            self.assertEqual(version * 8, self.ask(place, "sh", "-c", line).out)
            with self.subTest("a home and a name of its own, another user, no variable of the caller"):
                run = self.ask(place, "sh", "-c",
                               "ssh train@n2 'echo $USER $HOME $(hostname) ${TEST_FOLDER-none}; command -v launch'")
                self.assertEqual(f"train {place.home_of(2)} n2 none\n{place.path_of(2)}/launch\n", run.out, str(run))
            with self.subTest("without ssh"):
                run = self.ask(place, place.folder / "enter", "n3", "hostname; command -v launch")
                self.assertEqual(f"n3\n{place.path_of(3)}/launch\n", run.out, str(run))
            self.expect_empty(place)

    def test_what_is_wrong(self):
        (self.folder / "shared" / "work").mkdir(parents=True)
        with self.place(7) as place:
            place.stop_sshd(1)
            place.remove_launch(2)
            place.install_version(3, "0.0.9")
            place.put_in_rc(4, "echo Welcome\n")
            place.forget_keys_of(5)
            place.refuse_key(6)
            place.empty_folder(7, self.folder / "shared")
            for name, code, text in (("n1", 255, "Connection refused"), ("n2", 127, "launch: command not found"),
                                     ("n3", 0, r"launch-remote 1 0.0.9 \d+ n3"), ("n4", 0, "Welcome\nlaunch "),
                                     ("n5", 255, "Host key verification failed"), ("n6", 255, "Permission denied"),
                                     ("n8", 255, "Could not resolve hostname")):
                with self.subTest(name):
                    run = self.ask(place, "ssh", name, "launch --version")
                    self.assertEqual(code, run.code, str(run))
                    self.assertRegex(run.out + run.err, text)
            with self.subTest("a folder that is missing"):
                for name, there in (("n4", 0), ("n7", 1)):
                    run = self.ask(place, "ssh", name, f"test -d {self.folder}/shared/work")
                    self.assertEqual(there, run.code, str(run))
            with self.subTest("all is well again"):
                place.start_sshd(1)
                wait_for(place.file_of_pid(1).exists, 10)
                place.know(range(1, 8))
                run = self.ask(place, "sh", "-c", "ssh n1 hostname; ssh n5 hostname")
                self.assertEqual("n1\nn5\n", run.out, str(run))
            self.expect_empty(place)

    def test_what_runs_and_is_cut(self):
        with self.place(2) as place:
            def reaches(number):
                return self.ask(place, "ssh", "-o", "ConnectTimeout=1", place.name(number), "true").code == 0

            run = self.start(place.on_login("ssh", "n1", "echo up; exec sleep 300"), env=place.environment())
            self.assertTrue(wait_for(lambda: run.out, 20), str(run))
            self.assertEqual([run.pid], place.clients(1))
            running = lambda: [processes.command_of(pid) for pid in place.running(1)]
            self.assertTrue(wait_for(lambda: running() == ["sleep 300"], 20), place.shown())
            place.cut(1)
            self.assertFalse(reaches(1))
            self.assertTrue(wait_for(lambda: reaches(2), 20))
            place.plug_in(1)
            self.assertTrue(wait_for(lambda: reaches(1), 20))
            place.kill_client(1)
            self.expect([137], [run])
            self.assertTrue(wait_for(lambda: running() == ["sleep 300"], 20), place.shown())  # sshd sends it no signal
            os.kill(*place.running(1), 9)
            self.expect_empty(place)

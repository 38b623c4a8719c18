from setuptools import setup

setup(
    name="average-colour",
    version="1.0",
    packages=["model"],
    install_requires=["pillow==12.1.0"],
)
